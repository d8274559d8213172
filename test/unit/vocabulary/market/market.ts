import { readFileSync } from 'node:fs'

/** What sellers wrote, and in how many offers. */
export type Offer = { model: string; count: number; memoryGb: number | null; offers: number }

/** What a spelling means. */
export type Spelling = { text: string; model: string; variant: string | null; memoryGb: number[] }

/** What a region means; `null` where the text leaves it open. */
export type Region = { text: string; country: string | null; continent: string | null }

export const offers = (): Offer[] =>
  linesOf('offers').map((line) => {
    const [model = '', count = '', memory = '', times = ''] = line.split(',')
    const memoryGb = memory === '' ? null : Number(memory)
    return { model, count: Number(count), memoryGb, offers: Number(times) }
  })

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
