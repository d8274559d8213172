/**
 * Counts the texts with this part that the process parses as JSON meanwhile: work on listings, whatever the time that it takes.
 * `inTurn`: the most between two turns of the event loop, in which others wait.
 */
export async function countParsed(
  part: string,
  work: () => Promise<unknown>,
): Promise<{ total: number; inTurn: number }> {
  const { parse } = JSON
  const counted = { total: 0, inTurn: 0 }
  let now = 0
  JSON.parse = (text, ...reviver) => {
    if (String(text).includes(part)) {
      counted.total++
      counted.inTurn = Math.max(counted.inTurn, ++now)
    }
    return parse(text, ...reviver)
  }
  const nextTurn = () => {
    now = 0
    turn = setImmediate(nextTurn)
  }
  let turn = setImmediate(nextTurn)
  await work().finally(() => {
    JSON.parse = parse
    clearImmediate(turn)
  })
  return counted
}
