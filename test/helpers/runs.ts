const asked = process.env.PROPERTY_RUNS

/** How many cases a test of random ones tries: all where `PROPERTY_RUNS=full`, so many where it is a number, a fifth otherwise. */
export const runs = (full: number): number =>
  asked === 'full' ? full : asked === undefined ? Math.ceil(full / 5) : Number(asked)
