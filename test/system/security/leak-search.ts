/** Searches the texts of a run for secrets. */
export class LeakSearch {
  readonly #secrets = new Map<string, string>()
  readonly #texts: { where: string; text: string }[] = []

  /** @param secret must not appear, in any of its forms */
  addSecret(name: string, secret: string): string {
    if (secret.length < MIN_SECRET_LENGTH) throw new Error(`${name} could be part of anything`)
    this.#secrets.set(name, secret)
    return secret
  }

  addText(where: string, text: string): void {
    this.#texts.push({ where, text })
  }

  /** Number and total length of the texts. */
  get size(): { texts: number; characters: number } {
    return {
      texts: this.#texts.length,
      characters: this.#texts.reduce((sum, { text }) => sum + text.length, 0),
    }
  }

  /** Each secret that was found, where, and the text before it. */
  found(): string[] {
    const forms = [...this.#secrets].flatMap(([name, secret]) =>
      formsOf(secret).map((form) => [name, form] as const),
    )
    return this.#texts.flatMap(({ where, text }) =>
      forms.flatMap(([name, form]) => {
        const at = text.indexOf(form)
        return at < 0 ? [] : [`${name} in ${where}: …${text.slice(Math.max(0, at - 60), at)}[HERE]`]
      }),
    )
  }
}

const MIN_SECRET_LENGTH = 12

/** As it is, as a URL or JSON has it, and encoded as a header of HTTP or a log could have it. */
const formsOf = (secret: string): string[] => [
  ...new Set([
    secret,
    secret.toLowerCase(),
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
    Buffer.from(secret).toString('base64').replace(/=+$/, ''),
    Buffer.from(secret).toString('base64url'),
    Buffer.from(secret).toString('hex'),
  ]),
]
