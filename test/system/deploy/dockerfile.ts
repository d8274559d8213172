import { readFileSync } from 'node:fs'

type Instruction = { name: string; text: string }

export const DOCKERFILE = 'Dockerfile'

/** The Dockerfile's stages by name with their instructions, continued lines joined, without comments. */
export function readStages(): Map<string, Instruction[]> {
  const stages = new Map<string, Instruction[]>()
  let current: Instruction[] = []
  const lines = readFileSync(DOCKERFILE, 'utf8')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
  for (const line of lines.split('\n').filter((text) => text.trim() !== '')) {
    const [, name = '', text = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? []
    if (name === 'FROM') {
      current = []
      stages.set(/ AS (\w+)$/.exec(text)?.[1] ?? '', current)
    }
    current.push({ name, text })
  }
  return stages
}

/** The words of an instruction in the form of a JSON array. */
export function wordsOf(stage: readonly Instruction[], name: string): string[] {
  const text = stage.find((instruction) => instruction.name === name)?.text ?? ''
  return JSON.parse(text.slice(text.indexOf('[')))
}
