// The run of a person as a file, which `berlyne.read_runs` reads.

const RECORD_FORMAT = 1;

/** Return a person's run, with the curves of the agents for as many steps. */
export function recordOf(app, name) {
  const { person, world } = app;
  const { nSteps } = person;
  return {
    kind: "run of a person", format: RECORD_FORMAT, name,
    world: { name: world.name, n_states: world.nStates, n_actions: world.nActions, fingerprint: world.fingerprint },
    began_with: person.run.name, begin: person.begin, seed: app.seed,
    states: [...person.states], actions: [...person.actions], next_states: [...person.nextStates],
    missing_information: [...person.curve],
    agents: app.runs.map((run) => ({ name: run.name, missing_information: [...run.curve.slice(0, nSteps + 1)] })),
  };
}

/** Let the browser save a person's run. */
export function downloadRun(app, name) {
  const file = new Blob([JSON.stringify(recordOf(app, name))], { type: "application/json" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = `${(name || "my").replace(/[^\p{L}\p{N}]+/gu, "-")}-run.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
