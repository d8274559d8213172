import { globSync, readFileSync } from 'node:fs'

/** Words that make a sentence hard to read, with what to write in their place. */
const WORDS: Readonly<Record<string, string>> = {
  whoever: 'the component or the person',
  nobody: 'no client, no user',
  somebody: 'another client',
  anybody: 'any client',
  'becomes of': 'happens to',
  'come by': 'obtained',
  'comes by': 'obtains',
  'is none': 'does not exist',
  'is told': 'receives, reports',
  'was told': 'received, reported',
  'tells of': 'reports',
  'at hand': 'in memory, available',
}
const PATTERN = new RegExp(`\\b(${Object.keys(WORDS).join('|')})\\b`, 'gi')
/** Lines that are listed; the rest is counted. */
const MOST = 20

const found = globSync('{src,test,bench}/**/*.ts').flatMap((file) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line, n) =>
      /^\s*(\*|\/\*|\/\/)/.test(line)
        ? [...line.matchAll(PATTERN)].map(([word]) => ({ at: `${file}:${n + 1}`, word: word.toLowerCase() }))
        : [],
    ),
)
for (const { at, word } of found.slice(0, MOST))
  process.stdout.write(`${at} warning: "${word}" in a comment; write ${WORDS[word]}\n`)
if (found.length > MOST) process.stdout.write(`and ${found.length - MOST} more\n`)
