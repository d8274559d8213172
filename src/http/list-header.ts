const SUMMARY_LENGTH = 40

/** Members that fit into `max` (RFC 9110 section 5.6.1), then `summary` (at most 40 characters) if needed. */
export function joinWithin(
  max: number,
  members: readonly string[],
  summary: (left: number) => string,
): string {
  const whole = members.join(', ')
  if (whole.length <= max) return whole
  let shown = 0
  for (let length = SUMMARY_LENGTH; ; shown++) {
    length += members[shown]!.length + 2
    if (length > max) break
  }
  return [...members.slice(0, shown), summary(members.length - shown)].join(', ')
}
