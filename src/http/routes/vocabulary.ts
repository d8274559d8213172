import { sourceMembers } from '../../gateway/source-report.ts'
import { vocabularyReportSchema } from '../../wire/vocabulary.ts'
import { marketRequestOf } from '../parameters.ts'
import type { Route } from '../route.ts'
import type { Gateway } from './listings.ts'

export const vocabularyRoutes = ({ market }: Pick<Gateway, 'market'>): Route[] => [
  {
    method: 'GET',
    path: '/vocabulary',
    gate: 'read',
    summary: 'Models of GPUs and countries, as the filters `gpu` and `country` know them',
    description:
      'What open listings of all visible sources say, what it means, and what is not recognised, by source: operators ' +
      'extend the tables with `[vocabulary]`. Counts of a source are of its own copies, and of its most frequent texts: ' +
      '2,000 models and 2,000 regions are read, the same number of each source.',
    parameters: [],
    responses: {
      200: { description: 'Models, countries and unknown texts', schema: vocabularyReportSchema },
    },
    problems: [412, 503, 504],
    handle: async (context) => {
      const { filters, gpus, countries, not_recognised, complete, ...reports } = await market.vocabulary(
        marketRequestOf(context),
      )
      const report = { filters, gpus, countries, not_recognised, complete, ...sourceMembers(reports) }
      return { body: Buffer.from(JSON.stringify(report)) }
    },
  },
]
