import { nearestName } from '../domain/nearest-name.ts'

/** What buyers call filters, in other markets and in words. The first that is known here is meant. */
const MEANT: readonly (readonly [names: RegExp, filters: readonly string[]])[] = [
  [/^(?:min_)?(?:vram|gpu_?v?ram|gpu_?mem(?:ory)?)(?:_gb)?(?:_min)?$/, ['gpu_memory_gb_min']],
  [/^(?:min_)?(?:total_vram|vram_total|gpu_?total_?v?ram)(?:_gb)?(?:_min)?$/, ['gpu_memory_total_gb_min']],
  [/^(?:min_)?(?:memory|mem|system_ram)(?:_gb)?(?:_min)?$/, ['ram_gb_min']],
  [/^(?:min_)?(?:cpus?|cores|cpu_cores|vcpus?)(?:_count)?(?:_min)?$/, ['vcpu_count_min']],
  [/^(?:min_)?(?:gpus?|num_gpus|gpu_count|gpu_num)(?:_min)?$/, ['gpus_min', 'gpu_count_min']],
  [/^(?:min_)?(?:sla|uptime|availability|reliability)(?:_percent)?(?:_min)?$/, ['sla_min']],
  [
    /^(?:min_)?(?:rent|rental|duration|max_duration|hours|rent_hours|lease)(?:_hours|_seconds)?(?:_min)?$/,
    ['rent_hours_min'],
  ],
  [/^(?:gpu_name|gpu_type|model|card)$/, ['gpu', 'gpu_model']],
  [/^(?:location|city|zone|datacenter|geolocation)$/, ['region']],
]

/** Words up to here have to be equal: `vram` is not a misspelt `ram`, nor `cpu` a misspelt `gpu`. */
const SHORT_WORD = 4

/** `hint`: the same in words. */
type Suggested = { filter: string; hint: string }

/** The filter that an unknown name probably means; never one of another meaning. `null` for none. */
export function suggestFilter(name: string, names: readonly string[]): Suggested | null {
  const [, filters] = MEANT.find(([names]) => names.test(name.toLowerCase())) ?? []
  if (filters !== undefined) {
    const filter = filters.find((one) => names.includes(one))
    return filter === undefined ? null : { filter, hint: `that is ${filter}` }
  }
  const words = shortWordsOf(name)
  const candidates = names.filter((one) => one.startsWith(name) || hasSameWords(words, shortWordsOf(one)))
  const nearest = nearestName(name, candidates)
  return nearest === null ? null : { filter: nearest, hint: `did you mean ${nearest}?` }
}

const shortWordsOf = (name: string): string[] =>
  name
    .toLowerCase()
    .split('_')
    .filter((word) => word.length <= SHORT_WORD)

/** One more or less is a forgotten word. */
function hasSameWords(one: readonly string[], other: readonly string[]): boolean {
  const [few, many] = one.length <= other.length ? [one, other] : [other, one]
  return few.every((word) => many.some((candidate) => word === candidate || isMisspelt(word, candidate)))
}

/** `mn` is a misspelt `min`, but `max` is not. */
const isMisspelt = (word: string, candidate: string): boolean =>
  [word, candidate].filter((one) => ENDS.includes(one)).length === 1 &&
  nearestName(candidate, [word]) !== null

const ENDS = ['min', 'max']
