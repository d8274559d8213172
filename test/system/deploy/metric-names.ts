import { spawnSync } from 'node:child_process'

/** Words of PromQL in our rules and panels that are neither metrics nor labels. */
const WORDS = new Set([
  'and',
  'avg',
  'by',
  'changes',
  'count',
  'histogram_quantile',
  'increase',
  'label_values',
  'max',
  'min',
  'on',
  'or',
  'rate',
  'sum',
  'time',
  'unless',
  'without',
])

/** The metrics that a PromQL expression reads: its words, less functions, labels, strings and ranges. */
export function metricsIn(expression: string): string[] {
  const bare = expression
    .replaceAll(/"[^"]*"/g, '')
    .replaceAll(/\{[^}]*\}/g, ' ')
    .replaceAll(/\[[^\]]*\]/g, ' ')
    .replaceAll(/\b(?:by|on|without)\s*\([^)]*\)/g, ' ')
    .replaceAll(/label_values\(([^,]*),[^)]*\)/g, '$1')
  return [...bare.matchAll(/(?<![\w.$])[a-zA-Z_:][\w:]*/g)]
    .map(([word]) => word)
    .filter((word) => !WORDS.has(word))
}

/** The labels that an expression selects or groups by. */
export const labelsIn = (expression: string): string[] => [
  ...[...expression.matchAll(/[{,]\s*(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label!),
  ...[...expression.matchAll(/\b(?:by|on|without)\s*\(([^)]*)\)/g)].flatMap(([, labels]) =>
    labels!.split(/\s*,\s*/),
  ),
]

/** Every series name of `/metrics`, with its labels; a histogram has three. */
export function seriesIn(exposition: string): Map<string, Set<string>> {
  const series = new Map<string, Set<string>>()
  for (const [, name, labels = ''] of exposition.matchAll(/^([a-zA-Z_:][\w:]*)(?:\{([^}]*)\})? \S+$/gm)) {
    const known = series.get(name!) ?? new Set()
    for (const [, label] of labels.matchAll(/(\w+)="/g)) known.add(label!)
    series.set(name!, known)
  }
  return series
}

/** Findings of Prometheus' own linter; `null` if it is not installed. */
export function promtool(...args: string[]): string | null {
  const { error, status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' })
  if (error !== undefined) return null
  return status === 0 ? '' : stdout + stderr
}
