import type { Environment } from './settings.ts'

/** The only read of `process.env`; light enough for the command line to load. */
export const environment: Environment = process.env
