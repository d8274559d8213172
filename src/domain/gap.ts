/** A Registry behind a gateway that is not in the gateway's answer, in the gateway's own words and names. */
export type Gap = { registry: string; state: string; reason?: string }

/** `''` for none. */
export const describeGaps = (gaps: readonly Gap[]): string =>
  gaps
    .map(
      ({ registry, state, reason }) => `${registry} is ${state}${reason === undefined ? '' : ` (${reason})`}`,
    )
    .join(', ')
