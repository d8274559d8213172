/** How many cases a test of random ones tries: `full` of them where `PROPERTY_RUNS=full`, a fifth otherwise. */
export const runs = (full: number): number =>
  process.env.PROPERTY_RUNS === 'full' ? full : Math.ceil(full / 5)
