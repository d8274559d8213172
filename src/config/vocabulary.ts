import { createHash } from 'node:crypto'
import { lazy } from '../domain/lazy.ts'
import type { Violation } from '../errors.ts'
import type { Tables } from '../vocabulary/meaning.ts'
import { Vocabulary } from '../vocabulary/vocabulary.ts'
import { readGpuTable } from './gpu-rows.ts'
import { readPlaceTable } from './place-rows.ts'
import { withoutProblems } from './row-file.ts'

/** Paths of the operator's files; `null`: the shipped rows alone. Each problem has file and line. */
export const readVocabulary = (files: RowFiles, problems: Violation[]): Vocabulary =>
  files.gpus === null && files.places === null
    ? shippedVocabulary()
    : new Vocabulary(readTables(files, problems))

/** For readers without a gateway file. @throws ConfigError */
export const shippedVocabulary = (): Vocabulary => new Vocabulary(shippedTables())

type RowFiles = { gpus: string | null; places: string | null }

const shippedTables = lazy(() =>
  withoutProblems((problems) => readTables({ gpus: null, places: null }, problems)),
)

function readTables(files: RowFiles, problems: Violation[]): Tables {
  const tables = { gpus: readGpuTable(files.gpus, problems), places: readPlaceTable(files.places, problems) }
  return { ...tables, version: versionOf(tables) }
}

function versionOf(tables: object): string {
  const plain = (_name: string, value: unknown): unknown => (value instanceof Map ? [...value] : value)
  return createHash('sha256').update(JSON.stringify(tables, plain)).digest('base64url').slice(0, 16)
}
