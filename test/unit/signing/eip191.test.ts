import test from 'ava'
import fc from 'fast-check'
import { hashMessage, recoverAddress as recoverByViem } from 'viem/utils'
import { readSignature, recoverAddress } from '../../../src/signing/eip191.ts'
import { runs } from '../../helpers/runs.ts'
import { ALICE } from '../../helpers/seller.ts'

const MESSAGE = 'update_listing:L1:1767225600'
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const FIELD_PRIME = 0xfffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2fn

const hexOf = (value: bigint, bytes = 32): string => value.toString(16).padStart(bytes * 2, '0')
const joined = (r: bigint, s: bigint, v: number): string => `${hexOf(r)}${hexOf(s)}${hexOf(BigInt(v), 1)}`

/** `null` stands for a signature that is refused. */
function addressHere(message: string, hex: string): string | null {
  const signature = readSignature(hex)
  return signature && recoverAddress(message, signature)
}

/** viem knows v of 0, 1, 27 and 28; a larger one is reduced to its parity as EIP-155 defines it. */
async function addressByViem(message: string, hex: string): Promise<string | null> {
  const v = Number.parseInt(hex.slice(128), 16)
  const reduced = v >= 35 ? `${hex.slice(0, 128)}${hexOf(BigInt((v + 1) % 2), 1)}` : hex
  try {
    const address = await recoverByViem({ hash: hashMessage(message), signature: `0x${reduced}` })
    return address.toLowerCase()
  } catch {
    return null
  }
}

test('signature: random ones recover the address that viem recovers, or neither accepts them', async (t) => {
  const random = fc.record({
    message: fc.string({ unit: 'grapheme', maxLength: 100 }),
    bytes: fc.uint8Array({ minLength: 64, maxLength: 64 }),
    v: fc.oneof({ weight: 9, arbitrary: fc.constantFrom(0, 1, 27, 28) }, fc.nat({ max: 255 })),
  })
  const tried = runs(500)
  let accepted = 0
  await fc.assert(
    fc.asyncProperty(random, async ({ message, bytes, v }) => {
      const hex = `${Buffer.from(bytes).toString('hex')}${hexOf(BigInt(v), 1)}`
      const address = addressHere(message, hex)
      if (address !== null) accepted++
      t.is(address, await addressByViem(message, hex), hex)
    }),
    { numRuns: tried },
  )
  t.true(
    accepted > tried / 4 && accepted < (tried * 3) / 4,
    `about half of all r are on the curve, ${accepted} were`,
  )
})

test('signature: every v and both forms of s recover the address that viem recovers', async (t) => {
  const address = ALICE.address.toLowerCase()
  const few = [1, 28, 36]
  const cases: [string, number[]][] = [
    [MESSAGE, Array.from({ length: 256 }, (_, v) => v)],
    ['', few],
    ['é🚀', few],
    ['x'.repeat(10_000), few],
  ]
  for (const [message, vs] of cases) {
    const hex = (await ALICE.signMessage({ message })).slice(2)
    const [r, s] = [BigInt(`0x${hex.slice(0, 64)}`), BigInt(`0x${hex.slice(64, 128)}`)]
    const parity = hex.endsWith('1b') ? 0 : 1
    for (const v of vs) {
      const isKnown = v <= 1 || v === 27 || v === 28 || v >= 35
      const vParity = v === 27 || v === 28 ? v - 27 : v >= 35 ? (v + 1) % 2 : v
      for (const [form, ownParity] of [
        [s, parity],
        [CURVE_ORDER - s, 1 - parity],
      ] as const) {
        const signature = joined(r, form, v)
        const recovered = addressHere(message, signature)
        t.is(recovered === address, isKnown && vParity === ownParity, `${v} ${form}`)
        t.is(recovered, await addressByViem(message, signature), `${v} ${form}`)
      }
    }
  }
})

test('signature: r and s at the edges of their range are accepted and refused as by viem', async (t) => {
  const edges = [0n, 1n, 2n, 5n, CURVE_ORDER / 2n, CURVE_ORDER / 2n + 1n, CURVE_ORDER - 1n, CURVE_ORDER]
  const beyond = [CURVE_ORDER + 1n, FIELD_PRIME - 1n, FIELD_PRIME, FIELD_PRIME + 1n, 2n ** 256n - 1n]
  const values = [...edges, ...beyond]
  const accepted = new Set<bigint>()
  for (const r of values)
    for (const s of values)
      for (const v of [0, 1, 27, 28, 35, 36]) {
        const address = addressHere(MESSAGE, joined(r, s, v))
        if (address !== null) accepted.add(s)
        t.is(address, await addressByViem(MESSAGE, joined(r, s, v)), `${r} ${s} ${v}`)
      }
  t.deepEqual([...accepted], edges.slice(1, -1), 's from 1 to the order of the curve, exclusive')
})

test('signature: another length or other digits are refused', (t) => {
  const hex = joined(1n, 1n, 27)
  t.not(readSignature(hex), null)
  t.deepEqual(readSignature(`0x${hex}`), readSignature(hex))
  t.deepEqual(readSignature(hex.replace(/(..)/g, '$1 ')), readSignature(hex))
  const others = [hex.slice(2), hex.slice(1), `${hex}1b`, `${hex}0`, `0X${hex}`, `g${hex.slice(1)}`]
  for (const odd of ['', '0x', ...others]) t.is(readSignature(odd), null, odd)
})
