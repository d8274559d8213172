/** What is told of sources that are not as they should be. */
export type SourceLog = {
  info: (about: object, message: string) => void
  warn: (about: object, message: string) => void
}
