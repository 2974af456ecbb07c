// oxlint-disable typescript/no-explicit-any -- a document is looked into

/** A plain copy of an OpenAPI document with the named schemas in place of the references to them. */
export function resolved(document: object): any {
  const { schemas } = (document as { components: { schemas: Record<string, object> } }).components;
  const PREFIX = '#/components/schemas/';
  const inline = (value: any): any => {
    if (Array.isArray(value)) return value.map(inline);
    if (typeof value !== 'object' || value === null) return value;
    const { $ref, ...rest } = value;
    if (typeof $ref !== 'string' || !$ref.startsWith(PREFIX))
      return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, inline(part)]));
    // What stands beside a reference has priority.
    return { ...inline(schemas[$ref.slice(PREFIX.length)]), ...rest };
  };
  return inline(JSON.parse(JSON.stringify(document)));
}
