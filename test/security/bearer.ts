export const bearer = (key: string): Record<string, string> => ({ Authorization: `Bearer ${key}` })
