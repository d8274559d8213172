import { fileURLToPath } from 'node:url'
import { shippedVocabulary } from '../src/config/vocabulary.ts'
import type { Filter } from '../src/filter-spec/filter.ts'
import { readFilterSpec } from '../src/filter-spec/load.ts'
import type { Row } from '../src/listing-index/copy.ts'
import { byBasis } from '../test/helpers/grouping.ts'
import { OneSource } from '../test/helpers/one-source.ts'
import { generateListings } from './generate-listings.ts'
import { LISTINGS, percentile, timed } from './index.ts'
import type { Bench } from './table.ts'

/** Listings of one build; builds with and without derived columns alternate. */
const BUILT = 100_000
const BUILDS = 5
const FACET_QUERIES = 100
const WARM_UP = 10

/** Each model in so many spellings. */
const SPELLINGS: readonly ((model: string) => string)[] = [
  (model) => model,
  (model) => `NVIDIA ${model}`,
  (model) => model.toLowerCase(),
  (model) => `nvidia-${model.toLowerCase().replaceAll(' ', '-')}`,
  (model) => model.replaceAll(' ', ''),
  (model) => `${model} PCIe`,
  (model) => `${model} (community)`,
  (model) => `NVIDIA_${model.replaceAll(' ', '_')}`,
]

export const vocabulary: Bench = {
  name: 'vocabulary',
  what: `index of listings whose models are spelled in ${SPELLINGS.length} ways, with derived columns and without; counts by \`gpu\` over ${LISTINGS.toLocaleString('en')}`,
  run: async () => {
    const spec = readFilterSpec(fileURLToPath(new URL('../config/filter-spec.yaml', import.meta.url)))
    const plain = [...spec.filters.values()]
    const derived = shippedVocabulary().filters(spec.filters)
    const entries = [...spelled(BUILT)]
    const times = { plain: [] as number[], derived: [] as number[] }
    for (let n = 0; n < BUILDS; n++) {
      times.plain.push(timed(() => load(plain, entries)))
      times.derived.push(timed(() => load([...plain, ...derived], entries)))
    }
    const ratio = Math.min(...times.derived) / Math.min(...times.plain)
    const index = load([...plain, ...derived], [...spelled(LISTINGS)])
    const gpu = derived.find(({ name }) => name === 'gpu')!
    const facets = Array.from({ length: FACET_QUERIES }, () => timed(() => countBy(index, gpu)))
    const sorted = facets.slice(WARM_UP).toSorted((a, b) => a - b)
    return [
      { measure: 'build with derived columns', value: ratio, unit: '× without them', budget: '1.05' },
      { measure: 'facets by gpu, p50', value: percentile(sorted, 0.5), unit: 'ms', budget: '10' },
    ]
  },
}

function* spelled(count: number): Generator<Row> {
  let n = 0
  for (const entry of generateListings(count)) {
    const spell = SPELLINGS[n++ % SPELLINGS.length]!
    const text = Buffer.from(entry.bytes).toString()
    const bytes = Buffer.from(text.replace(/("gpu_model":")([^"]*)/, (_, name, model) => name + spell(model)))
    yield { ...entry, bytes }
  }
}

function load(filters: readonly Filter[], entries: readonly Row[]): OneSource {
  const index = new OneSource(filters)
  for (const _step of index.load(entries));
  return index
}

function countBy(index: OneSource, field: Filter): void {
  const matches = index.matches({ status: 'open', criteria: [] })
  for (const _step of matches.facets([field], byBasis('gpu')));
}
