type Texts = Readonly<Record<string, string>>;

/** Texts of fields of a place. The place may have alternatives. */
export const textsOf = (place: string, fields: Texts): Texts =>
  Object.fromEntries(Object.entries(fields).map(([name, text]) => [`${place}.${name}`, text]));

/** Texts by each name that their names stand for: `(gaining|losing).points` for two. */
export const withAlternatives = (texts: Texts): Texts =>
  Object.fromEntries(Object.entries(texts).flatMap(([name, text]) => namesOf(name).map((one) => [one, text])));

/** The innermost alternatives first. */
function namesOf(name: string): string[] {
  const [choice, names] = /\(([^()]*)\)/.exec(name) ?? [];
  return choice === undefined ? [name] : names!.split('|').flatMap((one) => namesOf(name.replace(choice, one)));
}
