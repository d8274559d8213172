/** Words of vendors and of their product series, with the vendor. They change no model of that vendor. */
const SERIES: ReadonlyMap<string, string> = new Map([
  ['nvidia', 'nvidia'],
  ['geforce', 'nvidia'],
  ['tesla', 'nvidia'],
  ['quadro', 'nvidia'],
  ['amd', 'amd'],
  ['instinct', 'amd'],
  ['radeon', 'amd'],
  ['intel', 'intel'],
  ['habana', 'intel'],
  ['google', 'google'],
  ['cloud', 'google'],
  ['tenstorrent', 'tenstorrent'],
])

/** Words that say nothing about the model. One that separates two models, such as `Ti` or `Laptop`, must not be added. */
const FILLERS: ReadonlySet<string> = new Set([
  'accelerator',
  'bare',
  'baremetal',
  'card',
  'container',
  'core',
  'dedicated',
  'demand',
  'dgx',
  'edition',
  'eth',
  'ethernet',
  'gddr',
  'generation',
  'gpu',
  'gpus',
  'graphics',
  'hbm',
  'hgx',
  'ib',
  'infiniband',
  'instance',
  'memory',
  'metal',
  'node',
  'nvlink',
  'nvswitch',
  'on',
  'ondemand',
  'passthrough',
  'pcie',
  'reserved',
  'roce',
  'server',
  'spot',
  'tensor',
  'virtual',
  'vm',
  'vram',
  'workstation',
])

export function isSeriesOf(word: string, vendor: string | null): boolean {
  const name = vendor?.toLowerCase()
  return name !== undefined && (SERIES.get(word) === name || name.split(/[^a-z]+/).includes(word))
}

export const isFiller = (word: string): boolean => FILLERS.has(word)

/** Whether a word names no model, of any vendor. */
export const isCommonWord = (word: string): boolean => FILLERS.has(word) || SERIES.has(word)

/** Sellers write the next word without a space behind these: `RTXPRO6000`, `TeslaT4`. */
const GLUED_WORDS: readonly string[] = [...SERIES.keys(), 'gtx', 'pro', 'rtx', 'titan', 'tpu']

const COMPOUNDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['adageneration', ['ada', 'generation']],
  ['maxq', ['max', 'q']],
  ['sffada', ['sff', 'ada']],
  ['tisuper', ['ti', 'super']],
])

/** These end a number, and another word may follow without a space: `8xH100`, `80GBHBM3`. */
const UNITS: readonly string[] = ['gib', 'gb', 'x']

/** The words of a run of letters. */
export function splitLetters(letters: string, followsNumber: boolean): readonly string[] {
  const words: string[] = []
  let rest = letters
  for (const heads of followsNumber ? [UNITS, GLUED_WORDS] : [GLUED_WORDS])
    for (let head = headOf(rest, heads); head !== undefined; head = headOf(rest, heads)) {
      words.push(head)
      rest = rest.slice(head.length)
    }
  return [...words, ...(COMPOUNDS.get(rest) ?? [rest])]
}

const headOf = (letters: string, heads: readonly string[]): string | undefined =>
  heads.find((head) => letters.length > head.length && letters.startsWith(head))
