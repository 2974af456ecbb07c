// oxlint-disable-next-line no-restricted-imports -- the variables of each kind, which the API does not list
import { variablesOf } from '../../../../src/domain/notifications/message-variables.ts';
import { useMayChange } from '../../api/session.ts';
import { useIsPhone } from '../../ui/table-frame.tsx';
import type { Part, Place } from './draft.ts';
import { buttonHtml, PARAGRAPH_STYLE, type Look } from './starters.ts';
import { VARIABLES } from './words.ts';

/** What variables become without a value, for those that often have none. */
const FALLBACKS: Readonly<Record<string, string>> = { 'user.name': 'there' };

const variable = (name: string): string => `{{${name}${FALLBACKS[name] === undefined ? '' : `|${FALLBACKS[name]}`}}}`;

const blocksOf = (look: Look): readonly (readonly [string, string])[] => [
  ['Heading', '<h1 style="margin:0 0 16px;font-size:22px;line-height:1.3">Heading</h1>\n'],
  ['Paragraph', `<p style="${PARAGRAPH_STYLE}">Text</p>\n`],
  ['Button', `${buttonHtml('Open the app', look)}\n`],
  ['Picture', '<img src="https://app.example.com/picture.png" alt="What it shows" width="480">\n'],
  ['Link to unsubscribe', '<p style="margin:0;font-size:13px"><a href="{{unsubscribeUrl}}">Unsubscribe</a></p>\n'],
];

const PARTS: Readonly<Record<Part, string>> = {
  subject: 'the subject',
  html: 'the HTML',
  text: 'the text',
  title: 'the title',
  body: 'the text',
  url: 'the link',
};

const CHIP =
  'rounded-full border border-line bg-surface px-2.5 py-0.5 text-left hover:bg-hover max-md:px-3.5 disabled:opacity-50';

interface InsertionsProps {
  place: Place;
  attributes: readonly { key: string; name: string }[];
  /** The part that had the focus last. */
  into: Part;
  onInsert: (text: string) => void;
  look: Look;
}

/** Variables, and pieces of HTML, that are inserted where the cursor is. */
export function Insertions({ place: { medium, kind }, attributes, into, onInsert, look }: InsertionsProps) {
  const isPhone = useIsPhone();
  if (!useMayChange()) return null;
  // Users end push notifications in the app.
  const names = variablesOf(kind).filter((name) => medium === 'email' || name !== 'unsubscribeUrl');
  return (
    <details open={!isPhone} className="rounded-md bg-hover px-2.5">
      <summary className="py-1.5 font-medium">Insert a variable{medium === 'email' && ' or a piece of HTML'}</summary>
      <p className="mb-2 text-xs text-muted">
        Press one to insert it into <strong>{PARTS[into]}</strong>, where the cursor is. Each becomes the user’s own
        value; what follows <code>|</code> stands there if the user has none.
      </p>
      <div role="group" aria-label="Variables" className="mb-2.5 flex flex-wrap gap-1.5">
        {names.map((name) => (
          <button
            key={name}
            type="button"
            title={variable(name)}
            className={CHIP}
            onClick={() => onInsert(variable(name))}
          >
            {VARIABLES[name] ?? name}
          </button>
        ))}
        {attributes.map(({ key, name }) => (
          <button
            key={key}
            type="button"
            title={variable(`user.attributes.${key}`)}
            className={CHIP}
            onClick={() => onInsert(variable(`user.attributes.${key}`))}
          >
            {name}
          </button>
        ))}
      </div>
      {into === 'html' && (
        <div
          role="group"
          aria-label="Pieces of HTML"
          className="mb-2.5 flex flex-wrap gap-1.5 border-t border-line pt-2.5"
        >
          {blocksOf(look).map(([name, html]) => (
            <button key={name} type="button" className={`${CHIP} border-dashed`} onClick={() => onInsert(html)}>
              + {name}
            </button>
          ))}
        </div>
      )}
    </details>
  );
}
