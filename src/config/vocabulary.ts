import { createHash } from 'node:crypto'
import { ConfigError, type Violation } from '../errors.ts'
import { Vocabulary } from '../vocabulary/vocabulary.ts'
import { readGpuTable } from './gpu-rows.ts'
import { readPlaceTable } from './place-rows.ts'

/** Paths of the operator's files; `null`: the shipped rows alone. Each problem has file and line. */
export function readVocabulary(
  files: { gpus: string | null; places: string | null },
  problems: Violation[],
): Vocabulary {
  const gpus = readGpuTable(files.gpus, problems)
  const places = readPlaceTable(files.places, problems)
  return new Vocabulary({ gpus, places, version: versionOf({ gpus, places }) })
}

/** For readers without a gateway file. @throws ConfigError */
export function shippedVocabulary(): Vocabulary {
  const problems: Violation[] = []
  const vocabulary = readVocabulary({ gpus: null, places: null }, problems)
  if (problems.length > 0) throw new ConfigError(problems)
  return vocabulary
}

function versionOf(tables: object): string {
  const plain = (_name: string, value: unknown): unknown => (value instanceof Map ? [...value] : value)
  return createHash('sha256').update(JSON.stringify(tables, plain)).digest('base64url').slice(0, 16)
}
