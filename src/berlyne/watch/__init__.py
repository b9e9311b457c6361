"""The page that replays exploration: one file to look at, to mail, and to put on the web.

`data` says what is shown, `beliefs` and `methods` what was thought at every time, `page` puts it together with what is
in `static`: plain modules of JavaScript, a style and a template.
"""

from berlyne.watch.data import page_data
from berlyne.watch.page import inert_json, page_of, shell, watch

__all__ = ["inert_json", "page_data", "page_of", "shell", "watch"]
