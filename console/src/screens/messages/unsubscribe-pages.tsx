import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
// oxlint-disable-next-line no-restricted-imports -- the form of a locale, as the API checks it
import { LOCALE_PATTERN } from '../../../../src/domain/notifications/message-variables.ts';
import { useChange } from '../../api/change.ts';
import { Problem } from '../../api/answer.ts';
import { useMayChange } from '../../api/session.ts';
import { FieldsForm } from '../../resource/editor.tsx';
import { isEmpty, type Field, type Values } from '../../resource/field.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmedButton } from '../../ui/confirmed.tsx';
import { Sheet } from '../../ui/dialogs.tsx';
import { Panel } from '../../ui/parts.tsx';
import { applySettings, localeText, readSettings, sameLocale, settingsQuery, type Settings } from './queries.ts';
import { KIND_NAMES, KINDS } from './words.ts';

type Page = Settings['unsubscribePages'][number];

const LOCALE = new RegExp(LOCALE_PATTERN);

const PLACE: readonly Field[] = [
  {
    name: 'kind',
    label: 'For',
    input: 'choice',
    required: true,
    options: KIND_NAMES.map((kind) => ({ value: kind, text: KINDS[kind].name })),
  },
  {
    name: 'locale',
    label: 'Language',
    input: 'text',
    hint: 'Its code, such as de. Empty: all users without a page of their language.',
    clearable: true,
    check: (value) => (isEmpty(value) || LOCALE.test(String(value)) ? null : 'Enter a code such as de or pt-BR.'),
  },
];
const TEXTS: readonly Field[] = [
  { name: 'title', label: 'Heading', input: 'text', required: true, initial: 'Unsubscribe' },
  { name: 'question', label: 'Question', input: 'area', rows: 3, required: true, hint: 'Above the button.' },
  { name: 'button', label: 'Button', input: 'text', required: true, initial: 'Unsubscribe' },
  { name: 'doneTitle', label: 'Heading afterwards', input: 'text', required: true },
  { name: 'done', label: 'Text afterwards', input: 'area', rows: 3, required: true },
];

const isAt =
  ({ kind, locale }: Page) =>
  (other: Page): boolean =>
    other.kind === kind && sameLocale(other.locale, locale);

/** Replaces, adds or (`null`) removes a page. Refused if somebody else changed it since `before` was read. */
async function savePage(before: Page | null, page: Page | null): Promise<void> {
  const { unsubscribePages: pages } = await readSettings();
  const place = isAt((before ?? page)!);
  const stored = pages.find(place) ?? null;
  if (before === null && stored !== null) throw new Problem(409, 'locale: there is a page of this kind and language.');
  if (JSON.stringify(stored) !== JSON.stringify(before))
    throw new Problem(409, 'Somebody else changed this page since you opened it. Copy your texts, and load it again.');
  const others = pages.filter((one) => !place(one));
  await applySettings({ unsubscribePages: page === null ? others : [...others, page] });
}

/** An error of the API names the page by its number; the form has one page. */
async function saveValues(before: Page | null, sent: Values): Promise<void> {
  const { locale, ...values } = { ...before, ...sent };
  try {
    await savePage(before, { ...values, ...(!isEmpty(locale) && { locale }) } as Page);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new Problem(error.status, error.message.replace(/messages\.unsubscribePages\[\d+\]\.?/, ''));
  }
}

/** The pages that the links of e-mails lead to. Without one, Laurel has texts in many languages. */
export function UnsubscribePages({ settings: { unsubscribePages: pages } }: { settings: Settings }) {
  const mayChange = useMayChange();
  const queries = useQueryClient();
  /** Saves, and reads what is stored: an editor that is opened next must not begin with an older page. */
  const saved = async (save: Promise<void>): Promise<void> => {
    await save;
    await queries.refetchQueries({ queryKey: settingsQuery.queryKey });
  };
  const [opened, setOpened] = useState<Page | 'new' | null>(null);
  const page = opened === 'new' ? null : opened;
  const close = (): void => setOpened(null);
  return (
    <Panel title="Pages to unsubscribe" className="max-w-3xl">
      <p className="mb-3 text-muted">
        The link in e-mails leads to a page that asks once more. Laurel has its texts in eleven languages; write your
        own for a kind of e-mail where they do not fit.
      </p>
      {pages.length > 0 && (
        <ul className="mb-3 divide-y divide-line border-y border-line">
          {pages.map((one) => (
            <li key={`${one.kind} ${one.locale ?? ''}`} className="flex flex-wrap items-baseline gap-x-3 py-1.5">
              <button
                type="button"
                className="font-medium text-accent hover:underline max-md:min-h-11"
                onClick={() => setOpened(one)}
              >
                {KINDS[one.kind].name}, {localeText(one.locale)}
              </button>
              <span className="min-w-0 grow basis-48 truncate text-muted">{one.title}</span>
            </li>
          ))}
        </ul>
      )}
      {mayChange && <Button onClick={() => setOpened('new')}>Write a page</Button>}
      <Sheet
        open={opened !== null}
        onClose={close}
        title={page === null ? 'New page to unsubscribe' : `${KINDS[page.kind].name}, ${localeText(page.locale)}`}
      >
        <FieldsForm
          fields={page === null ? [...PLACE, ...TEXTS] : TEXTS}
          item={page}
          save={(sent) => saved(saveValues(page, sent))}
          done="Saved."
          onSaved={close}
        />
        {page !== null && <Removal remove={() => saved(savePage(page, null))} onRemoved={close} />}
      </Sheet>
    </Panel>
  );
}

function Removal({ remove, onRemoved }: { remove: () => Promise<void>; onRemoved: () => void }) {
  const change = useChange({
    run: async () => {
      await remove();
      onRemoved();
    },
    done: 'The page is removed.',
  });
  return (
    <ConfirmedButton
      className="mt-4"
      title="Remove this page?"
      action="Remove"
      about="Users see the page for all other users of this kind, or Laurel’s own texts."
      change={change}
    >
      Remove
    </ConfirmedButton>
  );
}
