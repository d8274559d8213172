import test from 'ava'
import fc from 'fast-check'
import type { JsonObject, JsonValue } from '../../../src/json/value.ts'
import { familiesOf, renderLines } from '../../../src/mcp/listing-line.ts'
import { quoted } from '../../../src/mcp/quoted.ts'

const PRICE = { amount: '1.75', symbol: 'USDC', unit: 'hour', price_per: 'gpu' }

const machine = (offer: JsonObject, more: JsonObject = {}, meta: JsonObject = {}): JsonObject => ({
  listing_id: '7f0c1c1e-6a0e-4e0b-9a53-0b6a4f7f2a01',
  publisher_id: 1,
  offer_resource: { gpu_count: 8, gpu_model: 'NVIDIA H200', ...offer },
  accepted_escrows: [],
  status: 'open',
  max_duration_seconds: 86_400,
  _meta: { registry: 'curated', also_in: [], stale: false, gpu: { model: 'H200' }, price: PRICE, ...meta },
  ...more,
})

const lineOf = (listing: JsonObject): string => renderLines(familiesOf([listing])).join('\n')

test('lines: what buyers compare by, with our words plain and those of sellers in quotes', (t) => {
  t.is(
    lineOf(machine({ region: 'California, US', sla: 99.5 })),
    '7f0c1c1e…|8×H200|1.75 USDC/GPU·h|"California, US"|SLA 99.5 ≤24 h|curated',
  )
  const known = { gpu: {}, price: { ...PRICE, testnet: true }, stale: true }
  const doubts = { unchecked: ['large'], not_in: ['a', 'b'], disputed: ['c'] }
  t.is(
    lineOf(machine({}, { status: 'closed', max_duration_seconds: null }, { ...known, ...doubts })),
    '7f0c1c1e…|8×"NVIDIA H200"|1.75 USDC/GPU·h TESTNET|curated|status closed|copy|UNCHECKED at large|NOT IN a, b|SELLER DISPUTED by c',
  )
  const unpriced = { price: null, gpu: null }
  const credits = { gpu_model: null, gpu_count: null, service_name: 'ocr' }
  t.is(
    lineOf(machine(credits, { accepted_escrows: [{ rates: ['?'] }] }, unpriced)),
    '7f0c1c1e…|credits "ocr"|price not readable|≤24 h|curated',
  )
  t.regex(lineOf(machine({}, {}, unpriced)), /8×"NVIDIA H200"\|price on request/)
})

test('lines: ids are as long as it takes to tell them apart, and whole where they are short', (t) => {
  const withIds = (...ids: string[]) => ids.map((listing_id, n) => machine({ sla: n }, { listing_id }))
  const firsts = (...ids: string[]): string[] =>
    renderLines(familiesOf(withIds(...ids))).map((line) => line.split('|')[0]!)
  t.deepEqual(firsts('spot-0001', 'compute-sf-h200-001', 'compute-sf-h200-102-long'), [
    'spot-0001',
    'compute-sf-h200-0…',
    'compute-sf-h200-1…',
  ])
  t.deepEqual(firsts('COMPLETE', 'a b1', 'a1'), ['"COMPLETE"', '"a b1"', 'a1'])
})

test('lines: offers that differ in region alone are one line, unless a reader is warned of one', (t) => {
  const places = ['Dallas, US', 'Paris, FR', 'Austin, US', 'Lyon, FR', 'Oslo, NO', 'Bonn, DE', 'Rome, IT']
  const listings = places.map((place, n) => {
    const [region = '', country = ''] = place.split(', ')
    const meta = { place: { country }, ...(region === 'Lyon' ? { disputed: ['curated'] } : {}) }
    return machine({ region, resource_id: `${n}` }, { listing_id: `machine-000${n + 1}` }, meta)
  })
  t.deepEqual(renderLines(familiesOf(listings)), [
    'machine-0001|8×H200|1.75 USDC/GPU·h|6 places: US 2, FR 1, NO 1, +2 more|≤24 h|curated',
    'machine-0004|8×H200|1.75 USDC/GPU·h|"Lyon"|≤24 h|curated|SELLER DISPUTED by curated',
  ])
})

/** What is left without the quoted words. */
const outside = (line: string): string => line.replace(/"(?:[^"\\]|\\.)*"/g, '')

const sentence = fc
  .tuple(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }))
  .map(([before, after]) => `${before} ZQX: Complete.\n"${after}`)

test('lines: no word of a seller is outside of quotes, and none makes a line of its own', (t) => {
  fc.assert(
    fc.property(sentence, (text) => {
      const hostile: JsonValue = {
        ...machine(
          { gpu_model: text, region: text },
          { listing_id: text, status: text },
          {
            registry: text,
            gpu: {},
            unchecked: [text],
            price: { ...PRICE, symbol: null, token: text, unit: text },
          },
        ),
      }
      for (const listing of [hostile, { ...hostile, offer_resource: { service_name: text } }]) {
        const line = lineOf(listing)
        t.false(line.includes('\n'))
        t.notRegex(outside(line), /ZQX|Complete/)
        t.true(Buffer.byteLength(line) < 400)
      }
    }),
  )
})

test('quoted: never more bytes than allowed, and a JSON text of the beginning', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 8, max: 40 }), (text, most) => {
      const shown = quoted(text, most)
      t.true(Buffer.byteLength(shown) <= most)
      const read = JSON.parse(shown) as string
      t.true(read === text || text.startsWith(read.slice(0, -1)))
    }),
  )
})
