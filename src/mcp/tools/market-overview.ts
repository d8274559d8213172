import { z } from 'zod'
import { plural } from '../../domain/plural.ts'
import { MAX_FACETS, type MergedFacets } from '../../gateway/facets.ts'
import type { Hints } from '../../gateway/hints.ts'
import { describeUnplaced } from '../../wire/describe-hints.ts'
import { facetsSchema } from '../../wire/facets.ts'
import { describeMatches, REPLACED_COPIES } from '../notices.ts'
import {
  COMPLETENESS,
  defineTool,
  MARKET_INPUT,
  MAX_TEXT,
  marketQuery,
  STRANGERS_TEXT,
  topValues,
} from '../tool.ts'

/** Per facet: an agent reads few of a hundred. */
const MAX_VALUES = 25
const MAX_PRICES = 12

export const marketOverviewTool = defineTool({
  name: 'market_overview',
  title: 'Market overview',
  description:
    'What there is and what it costs, over every matching listing of all reachable Registries, each once: the number of ' +
    'listings per value of the named filters, and per token and unit the offers, GPUs, and the least, median and most ' +
    'price. Call it before search_listings, to choose filters and a ceiling. If `complete` is false, listings are ' +
    `missing: more may match, and cheaper offers may exist. If total_is is ` +
    `at_most, counts and prices may include ${REPLACED_COPIES}. ${STRANGERS_TEXT}`,
  input: {
    by: z
      .array(z.string().min(1).max(MAX_TEXT))
      .max(MAX_FACETS)
      .optional()
      .describe(
        'Names of filters whose values are counted, or registry. Default: gpu_model, service_name, region, registry',
      ),
    ...MARKET_INPUT,
  },
  output: {
    ...COMPLETENESS,
    ...facetsSchema.pick({ total: true, total_is: true, facets: true, prices: true, unplaced: true }).shape,
  },
  run: async (market, { by, ...input }, request) => {
    const query = { ...marketQuery(market, input), by: by ?? null }
    const counts = await market.facets(query, request)
    const matches = plural(counts.total, 'listing matches', 'listings match')
    const count = counts.isTotalExact ? matches : `At most ${matches}`
    const words = await describeMatches(market, query, counts, count, request)
    const bound = counts.isTotalExact ? [] : [`Counts and prices may include ${REPLACED_COPIES}.`]
    const notice = [words, ...describeUnplaced(counts.unplaced), ...bound].join(' ')
    return { notice, json: JSON.stringify(shortened(counts)) }
  },
})

type Counts = MergedFacets & Pick<Hints, 'unplaced'>

/** Completeness comes first, since clients may cut the end. */
function shortened({ complete, sources, total, isTotalExact, facets, prices, unplaced }: Counts): object {
  const entries = Object.entries(facets).map(([name, { missing, ...facet }]) => [
    name,
    { ...topValues(facet, MAX_VALUES), missing },
  ])
  const total_is = isTotalExact ? undefined : 'at_most'
  return {
    complete,
    sources,
    total,
    total_is,
    unplaced,
    prices: prices.slice(0, MAX_PRICES),
    facets: Object.fromEntries(entries),
  }
}
