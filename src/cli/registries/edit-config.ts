import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { parse } from 'smol-toml'
import type { Environment } from '../../config/settings.ts'
import { ConfigError } from '../../errors.ts'
import { parseJson, sameJson } from '../../json/value.ts'
import { CliError, describeFileError, EXIT } from '../exit-codes.ts'
import { readBuyerConfig } from './buyer-config.ts'

/**
 * Adds a URL as the last of `[registry] urls`, in the file that has them, and leaves the rest of the file as it is.
 * @returns the file, and all URLs; `isNew`: whether it was not there
 * @throws ConfigError for a file that has a problem, CliError for one that cannot be changed
 */
export function addRegistryUrl(
  env: Environment,
  explicit: string | undefined,
  url: string,
): { file: string; urls: readonly string[]; isNew: boolean } {
  const { problems, urls, urlsFile: file } = readBuyerConfig(env, explicit)
  const isMissing = !existsSync(file)
  // A named file that is missing is a problem to all other commands.
  const isCreated = isMissing && explicit !== undefined
  if (!isCreated && problems.length > 0) throw new ConfigError(problems)
  if (urls.includes(url)) return { file, urls, isNew: false }
  const edited = withUrl(isMissing ? '' : readFileSync(file, 'utf8'), url)
  if (edited === null)
    throw new CliError(
      EXIT.badConfig,
      `${file} cannot be changed safely: add ${url} to [registry] urls there`,
    )
  replaceFile(file, edited)
  return { file, urls: [...urls, url], isNew: true }
}

type Table = { registry?: { urls?: string[] } }

/** The first edit that changes exactly this one thing; `null` where none does. */
function withUrl(text: string, url: string): string | null {
  const wanted = parse(text) as Table
  wanted.registry = { ...wanted.registry, urls: [...(wanted.registry?.urls ?? []), url] }
  return candidates(text, JSON.stringify(url)).find((one) => isSame(one, wanted)) ?? null
}

function isSame(text: string, wanted: object): boolean {
  try {
    return sameJson(plain(parse(text)), plain(wanted))
  } catch {
    return false // an edit in a wrong place
  }
}

/** Dates as texts. */
const plain = (table: object) => parseJson(JSON.stringify(table))

const MAX_BRACKETS = 200

function candidates(text: string, quoted: string): string[] {
  const insert = (at: number, more: string): string => `${text.slice(0, at)}${more}${text.slice(at)}`
  const brackets = [...text.matchAll(/\]/g)].slice(0, MAX_BRACKETS)
  const header = /^[ \t]*\[[ \t]*registry[ \t]*\][^\n]*\n/m.exec(text)
  const line = `urls = [${quoted}]\n`
  return [
    ...brackets.flatMap(({ index }) => [insert(index, `, ${quoted}`), insert(index, quoted)]),
    ...(header === null ? [] : [insert(header.index + header[0].length, line)]),
    `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${text === '' ? '' : '\n'}[registry]\n${line}`,
  ]
}

/** Whole or not at all; a link stays one. */
function replaceFile(file: string, text: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true })
    const mode = statSync(file, { throwIfNoEntry: false })?.mode
    const target = mode === undefined ? file : realpathSync(file)
    writeFileSync(`${target}.new`, text, { flag: 'wx', ...(mode !== undefined && { mode: mode & 0o777 }) })
    renameSync(`${target}.new`, target)
  } catch (cause) {
    throw new CliError(EXIT.badConfig, `cannot write ${file}: ${describeFileError(cause)}`)
  }
}
