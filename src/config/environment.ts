export type Environment = Readonly<Record<string, string | undefined>>

/** The only read of `process.env`; light enough for the command line to load. */
export const environment: Environment = process.env
