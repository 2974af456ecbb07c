/** Names and values of an answer of Redis or a Sentinel: a map by RESP3, a flat list by RESP2. */
export function fieldsOf(answer: unknown): Map<string, string> {
  if (!Array.isArray(answer)) return new Map(Object.entries(answer as Record<string, string>));
  const flat = answer.flat().map(String);
  return new Map(flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1]!] as const] : [])));
}
