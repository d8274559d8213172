import { globSync, readFileSync } from 'node:fs'

/** Words that make a sentence hard to read, with what to write in their place. */
const WORDS: Readonly<Record<string, string>> = {
  whoever: 'the component or the person',
  nobody: 'no client, no user',
  somebody: 'another client',
  anybody: 'any client',
  anew: 'again',
  'becomes of': 'happens to',
  'come by': 'obtained',
  'comes by': 'obtains',
  'is none': 'does not exist',
  told: 'received, reported, printed',
  'tells of': 'reports',
  said: 'reported, sent',
  'at hand': 'in memory, available',
}
const PATTERN = new RegExp(`\\b(${Object.keys(WORDS).join('|')})\\b`, 'gi')
/** Lines that are printed; the rest is counted. */
const MAX_PRINTED = 20

const files = globSync([
  '{src,test,bench,demo,scripts,examples}/**/*.{ts,lua,css}',
  '*.md',
  'docs/**/*.md',
  '{config,deploy}/*.{toml,yaml,yml,conf,sh,env}',
])
const found = files
  .filter((file) => !file.endsWith('marker-words.ts'))
  .flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, n) => [...line.matchAll(PATTERN)].map(([word]) => `${file}:${n + 1} "${word}"`)),
  )
for (const place of found.slice(0, MAX_PRINTED)) {
  const word = place.slice(place.indexOf('"') + 1, -1).toLowerCase()
  process.stdout.write(`${place} warning: write ${WORDS[word]}\n`)
}
if (found.length > MAX_PRINTED) process.stdout.write(`and ${found.length - MAX_PRINTED} more\n`)
