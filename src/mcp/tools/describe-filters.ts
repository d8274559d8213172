import { OPERATIONS } from '../../filter-spec/operations/operations.ts'
import { describeFilter } from '../../filter-spec/parameters.ts'
import type { FilterDescription } from '../../gateway/counts/filter-descriptions.ts'
import { sourceMembers } from '../../gateway/source-report.ts'
import { describeCompleteness } from '../notices.ts'
import { plainName } from '../quoted.ts'
import { DETAIL, defineTool, renderValues, topValues } from '../tool.ts'

export const describeFiltersTool = defineTool({
  name: 'describe_filters',
  description:
    'Every filter of search_listings: how to write its value, its fixed values, and how many open ' +
    'listings have each value now. INCOMPLETE: a source has not reported its filters yet and may have more.',
  input: DETAIL,
  run: async (market, { detail }, request) => {
    const { filters, counted, undeclared, ...completeness } = await market.filters(request, true)
    const notice = `${describeCompleteness(completeness)} ${filters.length} filters.${COUNT_NOTES[counted]}${describeUndeclared(undeclared)}`
    return detail === 'full'
      ? {
          notice,
          json: JSON.stringify({
            complete: completeness.complete,
            ...sourceMembers(completeness),
            filters: filters.map(onWire),
          }),
        }
      : { notice, lines: filters.map(renderFilter) }
  },
})

const describeUndeclared = (names: readonly string[]): string =>
  names.length === 0 ? '' : ` No filters of their own: ${names.join(', ')}.`

const COUNT_NOTES = {
  all: '',
  some: ' Counts lack a source that could not be counted: more values may exist there.',
  none: ' Values were not counted.',
} as const

const MAX_ALLOWED = 100
/** Per filter. */
const MAX_VALUES = 20

const onWire = (filter: FilterDescription) => ({
  name: filter.name,
  meaning: describeFilter(filter),
  value_type: filter.value_type,
  op: filter.op,
  path: filter.path,
  // A part of them would look like all.
  allowed: filter.allowed && filter.allowed.length <= MAX_ALLOWED ? filter.allowed : undefined,
  ...(filter.counts && topValues(filter.counts, MAX_VALUES)),
  registries: filter.registries,
})

const MAX_NAME = 64
/** Per filter and line. */
const MAX_IN_LINE = 8

function renderFilter(filter: FilterDescription): string {
  const { name, op, counts, allowed, registries, on_missing } = filter
  const parts = [
    `${plainName(name, MAX_NAME)}: ${OPERATIONS[op].syntax(filter)}`,
    on_missing === 'pass' && 'keeps listings that do not say',
    allowed !== undefined &&
      allowed.length <= MAX_ALLOWED &&
      `only ${allowed.map((one) => plainName(one, MAX_NAME)).join(', ')}`,
    counts !== undefined && counts.values.length > 0 && `now ${renderValues(name, counts, MAX_IN_LINE)}`,
    registries !== undefined && `at ${registries.map((one) => plainName(one, MAX_NAME)).join(', ')}`,
  ]
  return parts.filter((part) => part !== false).join('|')
}
