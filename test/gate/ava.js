import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { gateFiles } from './groups.ts'

const { ava } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

/** The runner's settings for a part of the tests. */
export function settingsOf(part) {
  const files = gateFiles(part)
  const rank = (file) => files.indexOf(relative('.', file))
  return { ...ava, files, sortTestFiles: (one, other) => rank(one) - rank(other) }
}
