const STATES: Readonly<Record<string, string>> = {
  loaded: 'loaded',
  stale: 'old copy',
  unavailable: 'unavailable',
  not_yet_loaded: 'not loaded yet',
  skipped: 'skipped',
}

export const stateWords = (state: string): string => STATES[state] ?? state
