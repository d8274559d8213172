import { readFileSync } from 'node:fs'

/** A seller, as the first members of an offer have it. */
export type Offer = { seller: string; model: string; count: number; memoryGb: number | null }

/** What a spelling means. */
export type Spelling = { text: string; model: string; variant: string | null; memoryGb: number[] }

/** What a region means; `null` where the text leaves it open. */
export type Region = { text: string; country: string | null; continent: string | null }

const SELLERS = ['a', 'b', 'c', 'd', 'e', 'f', 'g']

export const offers = (): Offer[] =>
  SELLERS.flatMap((seller) =>
    linesOf(seller).map((line) => {
      const [model = '', count = '', memory = ''] = line.split(',')
      return { seller, model, count: Number(count), memoryGb: memory === '' ? null : Number(memory) }
    }),
  )

export const spellings = (): Spelling[] =>
  linesOf('names').map((line) => {
    const [text = '', model = '', variant = '', memory = ''] = line.split(',')
    return { text, model, variant: variant || null, memoryGb: memory.split(' ').map(Number) }
  })

export const regions = (): Region[] =>
  linesOf('places').map((line) => {
    const [, quoted, plain, country, continent] = /^(?:"([^"]*)"|([^,]*)),([^,]*),([^,]*)$/.exec(line)!
    return { text: quoted ?? plain!, country: country || null, continent: continent || null }
  })

const linesOf = (name: string): string[] =>
  readFileSync(new URL(`${name}.csv`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .slice(1)
