import { addTo, byCount, mapIn } from '../../domain/counts.ts'
import { ALL_OPEN } from '../../domain/query.ts'
import { keepLatest } from '../../domain/remembered.ts'
import { inTurns } from '../../domain/turns.ts'
import { compileFilter, type Filter } from '../../filter-spec/filter.ts'
import type { CopyMatches } from '../../listing-index/copy-matches.ts'
import { MODEL_PATH, REGION_PATH } from '../../vocabulary/names.ts'
import { continentOfCountry, countryName } from '../../vocabulary/places/place-table.ts'
import type { Vocabulary } from '../../vocabulary/vocabulary.ts'
import type { SpellingJson, VocabularyJson } from '../../wire/vocabulary.ts'
import { askNow, matchesOf, outcomesOf, whileLearning } from '../ask.ts'
import type { Asked, AskRequest } from '../asking.ts'
import type { MarketSettings } from '../market-settings.ts'
import { type Reports, reportOutcomes } from '../source-report.ts'

/** Texts of models, and of regions, that are read for one report, the most frequent ones of each source: 0.3 ms each. */
const MAX_TEXTS = 2000
/** Readers who see different sources or listings, whose texts are kept until what is held changes. */
const MAX_KEPT = 16

/** Texts that are not recognised, of all sources: sellers choose them. */
const MAX_UNKNOWN = 500

/** Of their names: a seller chooses any number of spellings, and their length. */
const MAX_SPELLINGS = 50
const MAX_LENGTH = 200

const textAt = (path: string): Filter =>
  compileFilter({
    name: path,
    path,
    op: 'in',
    value_type: 'string',
    alias_kind: null,
    on_missing: 'fail',
    indexed: true,
  })

/** The index has their columns. */
export const TEXTS = [textAt(MODEL_PATH), textAt(REGION_PATH)]

type Texts = Omit<VocabularyJson, 'filters'>

/**
 * What open listings say, what it means, and what is not recognised. Readers who see the same share one count of the texts, which
 * none of them ends.
 */
export function createVocabularyReport(
  settings: MarketSettings,
): (request: Pick<AskRequest, 'reader'>) => Promise<Texts & Reports> {
  const kept = new Map<string, { version: string; texts: Promise<Texts> }>()
  return async ({ reader }) => {
    const { digest } = reader
    const asked = askNow(settings, ALL_OPEN, { reader })
    const { version } = asked
    const matches = await matchesOf(settings, asked)
    let entry = kept.get(digest)
    if (entry?.version !== version) {
      const made = { version, texts: countTexts(settings, asked, matches) }
      made.texts.catch(() => kept.get(digest) === made && kept.delete(digest))
      entry = made
    }
    keepLatest(kept, digest, entry, MAX_KEPT)
    return { ...(await entry.texts), ...reportOutcomes(outcomesOf(asked, matches), settings) }
  }
}

async function countTexts(settings: MarketSettings, asked: Asked, matches: CopyMatches): Promise<Texts> {
  const counts: SourceTexts[] = []
  const matching = matches.bySource()
  for (const [source, { name }] of asked.bySource) {
    if (!matching.has(source)) continue
    const ofSource = await matchesOf(settings, asked, (lane) => lane.source === source)
    counts.push({ source: name, values: await whileLearning(ofSource.values(TEXTS)) })
  }
  return inTurns(readTexts(settings.vocabulary, counts))
}

type SourceTexts = { source: string; values: readonly ReadonlyMap<string, number>[] }

function* readTexts(vocabulary: Vocabulary, counts: readonly SourceTexts[]): Generator<void, Texts> {
  const { gpus, places } = vocabulary.tables
  const byModel = new Map<string, Map<string, number>>()
  const byCountry = new Map<string, number>()
  const unknown: SpellingJson[] = []
  const most = Math.ceil(MAX_TEXTS / counts.length)
  const frequent = (values: ReadonlyMap<string, number>) => [...values].sort(byCount).slice(0, most)
  for (const { source, values } of counts) {
    for (const [text, count] of frequent(values[0]!)) {
      yield
      const { model } = vocabulary.read({ offer_resource: { gpu_model: text } }, source).gpu
      if (model === null) unknown.push({ source, field: 'gpu_model', text, count })
      else addTo(mapIn(byModel, model), text, count)
    }
    for (const [text, count] of frequent(values[1]!)) {
      yield
      const { country, continent } = vocabulary.read({ offer_resource: { region: text } }, source).place
      if (country !== null) addTo(byCountry, country, count)
      else if (continent === null) unknown.push({ source, field: 'region', text, count })
    }
  }
  return {
    gpus: gpus.models.map(({ model, vendor, memoryGb }) => {
      const spellings = [...(byModel.get(model) ?? [])].sort(byCount)
      return {
        gpu: model,
        ...(vendor !== null && { vendor }),
        memory_gb: [...memoryGb],
        listings: spellings.reduce((sum, [, count]) => sum + count, 0),
        spellings: spellings.slice(0, MAX_SPELLINGS).map(([text, count]) => ({ text, count })),
      }
    }),
    countries: [...byCountry].sort(byCount).map(([country, listings]) => ({
      country,
      name: countryName(places, country),
      continent: continentOfCountry(places, country) ?? '',
      listings,
    })),
    not_recognised: unknown
      .map((one) => ({ ...one, text: one.text.slice(0, MAX_LENGTH) }))
      .sort((a, b) => byCount([a.text, a.count], [b.text, b.count]))
      .slice(0, MAX_UNKNOWN),
  }
}
