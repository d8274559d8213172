export type SourceLog = {
  info: (about: object, message: string) => void
  warn: (about: object, message: string) => void
}
