/** 24.8 days. Node and browsers fire a longer timer at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1
