import { z } from 'zod'
import { plural } from '../../domain/plural.ts'
import type { Market } from '../../gateway/discovery.ts'
import { MAX_FACETS } from '../../gateway/facets.ts'
import { facetsSchema } from '../../wire/facets.ts'
import { describeMatches } from '../notices.ts'
import {
  COMPLETENESS,
  defineTool,
  MARKET_INPUT,
  MAX_TEXT,
  marketQuestion,
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
    `missing: counts are too low, and cheaper offers may exist. ${STRANGERS_TEXT}`,
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
  output: { ...COMPLETENESS, ...facetsSchema.pick({ total: true, facets: true, prices: true }).shape },
  run: async (discovery, { by, ...input }, signal) => {
    const question = { ...marketQuestion(input), by: by ?? null }
    const market = await discovery.market(question, signal)
    const count = plural(market.total, 'listing matches', 'listings match')
    const notice = await describeMatches(discovery, question, market, count, signal)
    return { notice, json: JSON.stringify(shortened(market)) }
  },
})

/** Completeness comes first, since clients may cut the end. */
function shortened({ complete, sources, total, facets, prices }: Market): object {
  const shown = Object.entries(facets).map(([name, { missing, ...facet }]) => [
    name,
    { ...topValues(facet, MAX_VALUES), missing },
  ])
  return { complete, sources, total, prices: prices.slice(0, MAX_PRICES), facets: Object.fromEntries(shown) }
}
