import test from 'ava'
import fc from 'fast-check'
import { SourceError } from '../../src/domain/source-error.ts'
import { EntrepotError } from '../../src/errors.ts'
import { matchesAll } from '../../src/filter-spec/evaluate.ts'
import type { Filter } from '../../src/filter-spec/filter.ts'
import { parseCriteria } from '../../src/filter-spec/parameters.ts'
import { readUpstreamSpec, type UpstreamSpec } from '../../src/filter-spec/upstream-spec.ts'
import { planned } from '../../src/gateway/plan.ts'
import type { FetchListings } from '../../src/upstream/fetch-listings.ts'
import { parseListingPage } from '../../src/upstream/listing-page.ts'
import { readPrefix } from '../../src/upstream/read-prefix.ts'
import { envelopeText, listingText } from '../helpers/fake-registry.ts'
import { filterOf, specBody } from '../helpers/specs.ts'
import { upstreamOptions } from '../upstream/upstream-options.ts'
import { listingQuery } from './gateway-parts.ts'

const NAMES = ['a', 'b', 'c'] as const
const SCAN_LIMIT = 30
const PAGE = 25
const SIGNAL = new AbortController().signal

const ours = new Map<string, Filter>(NAMES.map((name) => [name, filterOf(name)]))

/** How a Registry may have a filter of ours: just so, in some other sense, or not at all. */
const declared = fc.constantFrom<((name: string) => Filter) | null>(
  (name) => filterOf(name),
  (name) => filterOf(name),
  (name) => filterOf(name, { on_missing: 'pass' }),
  (name) => filterOf(name, { op: 'not_in' }),
  (name) => filterOf(name, { path: '$.offer_resource.d' }),
  null,
)

const specOf = (etag: string, how: readonly (((name: string) => Filter) | null)[]): UpstreamSpec => {
  const filters = NAMES.flatMap((name, n) => how[n]?.(name) ?? [])
  return readUpstreamSpec(Buffer.from(JSON.stringify(specBody(etag, filters))))
}

const offer = fc.record(
  Object.fromEntries([...NAMES, 'd'].map((name) => [name, fc.constantFrom('x', 'y', 7)])),
  { requiredKeys: [] },
)

/** A Registry of the deployed protocol, which has gone over from one spec to another unnoticed. */
const registryOf =
  (spec: UpstreamSpec, texts: readonly string[]): FetchListings =>
  async ({ filters, ifMatch }, offset) => {
    if (ifMatch !== undefined && ifMatch !== spec.etag) throw new SourceError('http_412', 'another spec')
    try {
      const criteria = parseCriteria(spec, filters)
      const matching = texts.filter((text) => matchesAll(criteria, JSON.parse(text)))
      const page = envelopeText(matching.slice(offset, offset + PAGE), matching.length)
      return parseListingPage(Buffer.from(page))
    } catch (error) {
      if (!(error instanceof EntrepotError)) throw error
      const filter = NAMES.find(
        (name) => error.message.includes(`'${name}'`) || error.message.startsWith(name),
      )
      throw new SourceError('unsupported_filter', error.message, { filters: filter ? [filter] : [...NAMES] })
    }
  }

test('whatever a Registry declares, and however that has changed, its answer is the truth or there is none', async (t) => {
  const spec = fc.tuple(declared, declared, declared)
  const value = fc.constantFrom('x', 'y', 'in:[x,y]', '')
  const asked = fc.array(fc.tuple(fc.constantFrom(...NAMES), value), { maxLength: 4 })
  const seen = { answered: 0, skipped: 0 }
  await fc.assert(
    fc.asyncProperty(
      fc.array(offer, { maxLength: 60, size: 'max' }),
      spec,
      fc.option(spec),
      asked,
      fc.tuple(fc.nat(10), fc.integer({ min: 1, max: 60 })),
      async (offers, now, before, filters, [offset, limit]) => {
        const texts = offers.map((offer_resource, n) =>
          listingText({ listing_id: `l-${String(n).padStart(2, '0')}`, offer_resource }),
        )
        const actual = specOf('now', now)
        let known = before === null ? null : specOf('before', before)
        const upstream = upstreamOptions({ url: 'http://nowhere.example', scanLimit: SCAN_LIMIT })
        const source = planned({
          name: 'elsewhere',
          schema: null,
          spec: {
            known: async () => known,
            recheck: async () => {
              known = actual
              return actual
            },
          },
        })((query, signal) => readPrefix(upstream, registryOf(actual, texts), query, signal))

        const criteria = parseCriteria({ filters: ours }, filters)
        const truth = texts.filter((text) => matchesAll(criteria, JSON.parse(text)))
        try {
          const page = await source(listingQuery({ filters, criteria, offset, limit }), SIGNAL)
          seen.answered++
          const shown = page.items.map(({ bytes }) => Buffer.from(bytes).toString())
          t.true(
            shown.every((text) => truth.includes(text)),
            'nothing is unfiltered',
          )
          if (known === null) return // what an unknown filter of theirs leaves out, nobody can know
          t.deepEqual(shown, truth.slice(offset, offset + limit), 'nothing is short')
          t.is(page.total, truth.length)
        } catch (error) {
          if (!(error instanceof SourceError)) throw error
          seen.skipped++
          t.is(error.reason, 'unsupported_filter')
          t.true(error.filters.length > 0 && texts.length > SCAN_LIMIT)
        }
      },
    ),
    { numRuns: 400 },
  )
  t.true(seen.answered > 50 && seen.skipped > 5, JSON.stringify(seen))
})
