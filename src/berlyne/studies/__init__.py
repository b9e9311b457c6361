"""Studies of one question each: an ordinary `Experiment`, its summary and its command (`berlyne study`)."""
