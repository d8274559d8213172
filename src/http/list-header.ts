/** Room for the member that stands for others. */
const SUMMARY_LENGTH = 40

/**
 * The members of a list header (RFC 9110 section 5.6.1), as many as fit.
 * @param max most characters
 * @param summary the member for the last `left` of them, where not all fit; at most 40 characters
 */
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
