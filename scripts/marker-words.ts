import { globSync, readFileSync } from 'node:fs'

/** Words that make a sentence hard to read, with what to write in their place. */
const WORDS: Readonly<Record<string, string>> = {
  whoever: 'the component or the person',
  nobody: 'no client, no user',
  somebody: 'another client',
  anybody: 'any client',
  someone: 'another client',
  anyone: 'any client',
  anew: 'again',
  'becomes of': 'happens to',
  'come by': 'obtained',
  'comes by': 'obtains',
  'is none': 'does not exist',
  told: 'received, reported, printed',
  tells: 'reports, shows, decides',
  said: 'reported, sent',
  'at hand': 'in memory, available',
}
const PATTERN = new RegExp(`\\b(${Object.keys(WORDS).join('|')})\\b`, 'gi')

const files = globSync([
  '{src,test,bench,demo,scripts,examples}/**/*.{ts,lua,css}',
  '*.md',
  'docs/**/*.md',
  '{config,deploy}/*.{toml,yaml,yml,conf,sh,env}',
])
for (const file of files.filter((one) => !one.endsWith('marker-words.ts')))
  for (const [n, line] of readFileSync(file, 'utf8').split('\n').entries())
    for (const [word] of line.matchAll(PATTERN)) {
      process.stdout.write(`${file}:${n + 1} "${word}": write ${WORDS[word.toLowerCase()]}\n`)
      process.exitCode = 1
    }
