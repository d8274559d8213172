import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { gateFiles } from './groups.ts'

const { ava } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
const files = gateFiles()
const rank = (file) => files.indexOf(relative('.', file))

export default { ...ava, files, sortTestFiles: (one, other) => rank(one) - rank(other) }
