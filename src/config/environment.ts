import type { Environment } from './settings.ts'

/** What the process was started with: the one place where that is read, light enough for the command line to load. */
export const environment: Environment = process.env
