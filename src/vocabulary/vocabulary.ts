import { countedSizes, type Sizes } from '../domain/price/price-key.ts'
import { remembered } from '../domain/remembered.ts'
import type { Filter } from '../filter-spec/filter.ts'
import { type DerivedStep, MEANING, SIZE_FIELDS } from '../filter-spec/path.ts'
import { at, type JsonValue } from '../json/value.ts'
import { DERIVED_FIELDS, parseDerived } from './derived-fields.ts'
import { type GpuReading, readGpu } from './gpus/read-gpu.ts'
import { readGpuValue } from './gpus/read-gpu-value.ts'
import { describeMeaning, type Meaning, type Tables } from './meaning.ts'
import { DERIVED_NAMES, type DerivedName, isDerivedName } from './names.ts'
import type { PlaceReading } from './places/place-model.ts'
import { readPlace } from './places/read-place.ts'

/** What models and places mean, by the tables of this process. */
export class Vocabulary {
  readonly tables: Tables
  readonly #gpus = new Map<string, GpuReading>()
  readonly #places = new Map<string, PlaceReading>()
  readonly #texts = new WeakMap<GpuReading, WeakMap<PlaceReading, string>>()
  #latest: { listing: JsonValue; source: string; meaning: Meaning } | null = null

  constructor(tables: Tables) {
    this.tables = tables
  }

  /** @param source the name of the Registry, which operators' rows may name */
  read(listing: JsonValue, source: string): Meaning {
    const [gpu_model, gpu_count, gpu_memory_gb, region] = RESOURCE.map((name) =>
      plain(at(listing, 'offer_resource', name)),
    )
    const { gpus, places } = this.tables
    return {
      gpu: remembered(this.#gpus, keyOf(source, gpu_model, gpu_count, gpu_memory_gb), () =>
        readGpu(gpus, source, { gpu_model, gpu_count, gpu_memory_gb }),
      ),
      place: remembered(this.#places, keyOf(source, region), () => readPlace(places, source, region)),
    }
  }

  /** The filters of derived values, but for names that are taken. */
  filters(taken: { has: (name: string) => boolean }): Filter[] {
    return DERIVED_NAMES.filter((name) => !taken.has(name)).map((name) => this.#filter(name))
  }

  #filter(name: DerivedName): Filter {
    const { valueIn, tables } = this
    const { path, read } = DERIVED_FIELDS[name]
    return {
      name,
      path,
      ...(read === undefined ? AT_LEAST : TEXT),
      on_missing: 'fail',
      indexed: true,
      compiled: [{ kind: 'derived', field: name, version: tables.version, source: '', valueIn }],
      parseDerived: (raw) => parseDerived(raw, name, tables),
    }
  }

  /** The filters that a spelling stands for; `null` for one that is not recognised. */
  queryOf(text: string): Readonly<Record<string, string>> | null {
    const { gpus } = this.tables
    if (readGpu(gpus, '', { gpu_model: text }).model === null) return null
    const reading = readGpuValue(gpus, text)
    return 'value' in reading ? { gpu: reading.value } : { ...reading.near[0] }
  }

  /** JSON members for a reader: `gpu` and `place`, with what is known; empty where nothing is. */
  describe(listing: JsonValue, source: string): string {
    return this.#describe(this.read(listing, source))
  }

  /** Readings are remembered, so many listings share one. */
  #describe(meaning: Meaning): string {
    const byPlace = this.#texts.get(meaning.gpu) ?? new WeakMap<PlaceReading, string>()
    this.#texts.set(meaning.gpu, byPlace)
    const text = byPlace.get(meaning.place) ?? describeMeaning(meaning)
    byPlace.set(meaning.place, text)
    return text
  }

  /** What prices are divided by. */
  readonly sizesOf = (listing: JsonValue, source: string): Sizes =>
    sizesOf(this.read(listing, source), listing)

  /** The fields of one listing are read in a row. */
  readonly valueIn: DerivedStep['valueIn'] = (listing, field, source) => {
    if (this.#latest?.listing !== listing || this.#latest.source !== source)
      this.#latest = { listing, source, meaning: this.read(listing, source) }
    const { meaning } = this.#latest
    if (field === MEANING) return this.#describe(meaning)
    if (field === SIZE_FIELDS.gb) return sizesOf(meaning, listing).gb
    if (field === SIZE_FIELDS.tflop) return sizesOf(meaning, listing).tflop
    return isDerivedName(field) ? DERIVED_FIELDS[field].valueIn(meaning, listing) : null
  }
}

const TEXT = { op: 'in', value_type: 'string', alias_kind: null } as const
const AT_LEAST = { op: 'range', value_type: 'number', alias_kind: 'lower_bound' } as const

function sizesOf({ gpu: { dataSheetGb, fp16Tflops } }: Meaning, listing: JsonValue): Sizes {
  const { gpu } = countedSizes(listing, '')
  const times = (size: number | null): number | null => (gpu === null || size === null ? null : size * gpu)
  return { gpu, gb: times(dataSheetGb), tflop: times(fp16Tflops) }
}

/** Characters of a model or region that are read. */
const MAX_TEXT_LENGTH = 200
const RESOURCE = ['gpu_model', 'gpu_count', 'gpu_memory_gb', 'region'] as const

/** Different for different values. */
function keyOf(source: string, ...values: readonly (ReturnType<typeof plain> | undefined)[]): string {
  let key = `${source.length} ${source}`
  for (const value of values) key += typeof value === 'string' ? `"${value.length} ${value}` : `,${value}`
  return key
}

/** Members of other kinds, and long texts, mean nothing, and are not remembered whole. */
function plain(value: JsonValue): string | number | true | null {
  if (typeof value === 'string') return value.slice(0, MAX_TEXT_LENGTH + 1)
  return typeof value === 'number' || value === null ? value : true
}
