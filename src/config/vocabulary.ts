import { createHash } from 'node:crypto'
import type { z } from 'zod'
import { lazy } from '../domain/lazy.ts'
import { ConfigError, type Violation } from '../errors.ts'
import { buildGpuTable } from '../vocabulary/gpus/gpu-table.ts'
import type { Tables } from '../vocabulary/meaning.ts'
import { buildPlaceTable } from '../vocabulary/places/place-table.ts'
import { GPU_ROWS, PLACE_ROWS } from '../vocabulary/rows.ts'
import { Vocabulary } from '../vocabulary/vocabulary.ts'
import { shippedFile } from './shipped-files.ts'
import { type Rows, readRowFile } from './toml-file.ts'

/** Paths of the operator's files; `null`: the shipped rows alone. */
type RowFiles = { gpus: string | null; places: string | null }

/** The shipped rows, and those of the operator, which count where they differ. Each problem has file and line. */
export const readVocabulary = (files: RowFiles, problems: Violation[]): Vocabulary =>
  files.gpus === null && files.places === null
    ? shippedVocabulary()
    : new Vocabulary(readTables(files, problems))

/** For readers without a gateway file. @throws ConfigError with what is wrong in files of the package */
export const shippedVocabulary = (): Vocabulary => new Vocabulary(shippedTables())

const shippedTables = lazy(() => {
  const problems: Violation[] = []
  const tables = readTables({ gpus: null, places: null }, problems)
  if (problems.length > 0) throw new ConfigError(problems)
  return tables
})

function readTables(files: RowFiles, problems: Violation[]): Tables {
  const read = <Kinds extends Record<string, z.ZodObject>>(
    shipped: string,
    own: string | null,
    kinds: Kinds,
  ): Rows<Kinds>[] =>
    [shippedFile(shipped), own]
      .filter((file) => file !== null)
      .map((file) => readRowFile(file, kinds, MAX_ROWS, problems))
  const tables = {
    gpus: buildGpuTable(read('gpus.toml', files.gpus, GPU_ROWS), problems),
    places: buildPlaceTable(read('places.toml', files.places, PLACE_ROWS), problems),
  }
  return { ...tables, version: versionOf(tables) }
}

/** Of one kind, in one file. */
const MAX_ROWS = 10_000

function versionOf(tables: object): string {
  const plain = (_name: string, value: unknown): unknown => (value instanceof Map ? [...value] : value)
  return createHash('sha256').update(JSON.stringify(tables, plain)).digest('base64url').slice(0, 16)
}
