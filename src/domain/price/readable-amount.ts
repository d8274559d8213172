const PLACES = 4
const PLACES_BELOW_ONE = 6

/** `2.1` tokens are `2.10`; more than 4 decimal places are rounded up, more than 6 below 1. Base units have none. */
export function readableAmount(amount: string, isWholeTokens: boolean): string {
  const [whole = '0', fraction = ''] = amount.split('.')
  if (!isWholeTokens) return groupDigits(BigInt(whole))
  const places = whole === '0' ? PLACES_BELOW_ONE : PLACES
  const cut = fraction.slice(0, places).padEnd(places, '0')
  const isRounded = /[1-9]/.test(fraction.slice(places))
  const digits = String(BigInt(whole + cut) + (isRounded ? 1n : 0n)).padStart(places + 1, '0')
  const decimals = digits.slice(-places).replace(/0+$/, '').padEnd(2, '0')
  return `${groupDigits(BigInt(digits.slice(0, -places)))}.${decimals}`
}

function groupDigits(value: bigint): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',')
}
