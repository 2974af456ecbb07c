import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
// oxlint-disable-next-line no-restricted-imports -- the form of a locale, as the API checks it
import { LOCALE_PATTERN } from '../../../../src/domain/notifications/message-variables.ts';
import { Problem } from '../../api/answer.ts';
import { attributesQuery } from '../../api/queries.ts';
import { useMayChange } from '../../api/session.ts';
import { FieldsForm } from '../../resource/editor.tsx';
import { isEmpty, type Field, type Values } from '../../resource/field.ts';
import { Button, buttonLook } from '../../ui/button.tsx';
import { Sheet, SheetContext } from '../../ui/dialogs.tsx';
import { Labelled, TextInput } from '../../ui/fields.tsx';
import { Failed, Panel, Tag, Waiting } from '../../ui/parts.tsx';
import { MessagesScreen } from './frame.tsx';
import { type StoredTemplate, templatesOf } from './draft.ts';
import { ALL, applySettings, localeText, sameLocale, settingsQuery, type Settings } from './queries.ts';
import { Tracking } from './tracking.tsx';
import { KIND_NAMES, KINDS, type Kind, type Medium } from './words.ts';

const UnsubscribePages = lazy(async () => ({
  default: (await import('./unsubscribe-pages.tsx')).UnsubscribePages,
}));

/** The templates of e-mails by kind and language, and the rules of sending. */
export const Templates = () => <TemplatesScreen medium="email" />;

/** The same for push notifications. */
export const PushTemplates = () => <TemplatesScreen medium="push" />;

function TemplatesScreen({ medium }: { medium: Medium }) {
  const settings = useQuery(settingsQuery);
  return (
    <MessagesScreen tab={medium === 'email' ? 'Templates' : 'Push templates'}>
      {settings.isPending && <Waiting />}
      {settings.isError && <Failed error={settings.error} retry={() => void settings.refetch()} />}
      {settings.data && (
        <>
          <div className="grid items-start gap-4 lg:grid-cols-2">
            {KIND_NAMES.map((kind) => (
              <KindPanel key={kind} medium={medium} kind={kind} settings={settings.data} />
            ))}
          </div>
          <Rules settings={settings.data} />
          <Tracking settings={settings.data} />
          {medium === 'email' && (
            <Suspense>
              <UnsubscribePages settings={settings.data} />
            </Suspense>
          )}
        </>
      )}
    </MessagesScreen>
  );
}

/** The address of the editor. */
const EDITORS = { email: '/messages/$kind/$locale', push: '/messages/push/$kind/$locale' } as const;

function KindPanel({ medium, kind, settings }: { medium: Medium; kind: Kind; settings: Settings }) {
  const mayChange = useMayChange();
  const [adding, setAdding] = useState(false);
  const { name, about, when } = KINDS[kind];
  // The one for all other users comes first.
  const templates = templatesOf(settings, medium)
    .filter((template) => template.kind === kind)
    .toSorted((one, other) => (one.locale ?? '').localeCompare(other.locale ?? ''));
  return (
    <Panel
      title={name}
      actions={
        templates.length > 0 ? <Tag tone="good">has a template</Tag> : <Tag tone="warn">not sent: no template</Tag>
      }
    >
      <p>{about}</p>
      <p className="text-muted">{when}</p>
      {templates.length > 0 && (
        <ul className="mt-2 divide-y divide-line border-y border-line">
          {templates.map((template) => (
            <TemplateRow
              key={template.locale ?? ''}
              to={EDITORS[medium]}
              template={template}
              isOnly={templates.length === 1}
            />
          ))}
        </ul>
      )}
      {mayChange && (
        <div className="mt-3 flex flex-wrap items-center gap-2 empty:hidden">
          {templates.length === 0 ? (
            <Link
              to={EDITORS[medium]}
              params={{ kind, locale: ALL }}
              className={`${buttonLook('primary')} max-md:h-11`}
            >
              <Plus size={15} aria-hidden /> Write the template
            </Link>
          ) : settings.localeAttribute === null ? null : (
            <Button onClick={() => setAdding(true)}>
              <Plus size={15} aria-hidden /> Add a language
            </Button>
          )}
        </div>
      )}
      <Sheet open={adding} onClose={() => setAdding(false)} title={`Add a language: ${name}`}>
        <NewLanguage to={EDITORS[medium]} kind={kind} templates={templates} />
      </Sheet>
    </Panel>
  );
}

type EditorPath = (typeof EDITORS)[Medium];

interface TemplateRowProps {
  to: EditorPath;
  template: StoredTemplate;
  isOnly: boolean;
}

const TemplateRow = ({ to, template: { kind, locale, subject, title }, isOnly }: TemplateRowProps) => (
  <li className="flex flex-wrap items-baseline gap-x-3 py-1.5">
    <Link to={to} params={{ kind, locale: locale ?? ALL }} className="font-medium text-accent hover:underline">
      {localeText(locale, isOnly)}
    </Link>
    <span className="min-w-0 grow basis-48 truncate text-muted">{subject ?? title}</span>
  </li>
);

const LOCALE = new RegExp(LOCALE_PATTERN);

/** Asks for a language, and opens its template. */
function NewLanguage({ to, kind, templates }: { to: EditorPath; kind: Kind; templates: readonly StoredTemplate[] }) {
  const navigate = useNavigate();
  const [locale, setLocale] = useState('');
  const [isAsked, setAsked] = useState(false);
  const isKnown = templates.some((template) => sameLocale(template.locale, locale));
  const problem = !LOCALE.test(locale)
    ? 'Enter the code of a language, such as de or pt-BR.'
    : isKnown
      ? 'There is a template of this language.'
      : undefined;
  return (
    <form
      noValidate
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        setAsked(true);
        if (problem === undefined) void navigate({ to, params: { kind, locale } });
      }}
    >
      <Labelled
        label="Language"
        hint="Its code, such as de for German or pt-BR for Portuguese in Brazil. Users of pt-BR get pt if there is no template for pt-BR."
        problem={isAsked ? problem : undefined}
      >
        <TextInput
          required
          aria-invalid={isAsked && problem !== undefined}
          autoCapitalize="none"
          spellCheck={false}
          value={locale}
          onChange={({ target }) => setLocale(target.value.trim())}
        />
      </Labelled>
      {problem === undefined && <p className="text-muted">{localeText(locale)}</p>}
      <footer className="flex justify-end gap-2">
        <SheetContext.Consumer>
          {(sheet) => <Button onClick={() => sheet?.close()}>Cancel</Button>}
        </SheetContext.Consumer>
        <Button type="submit" look="primary">
          Write the template
        </Button>
      </footer>
    </form>
  );
}

const RULES: readonly Field[] = [
  {
    name: 'emailsPerDay',
    label: 'E-mails a day',
    input: 'number',
    hint: 'The most that a user gets on a day. Further ones of the day are not sent.',
    required: true,
  },
  {
    name: 'pushesPerDay',
    label: 'Push notifications a day',
    input: 'number',
    hint: 'The same for push notifications. One that goes to several devices counts once.',
    required: true,
  },
  {
    name: 'from',
    label: 'Quiet hours from',
    input: 'time',
    hint: 'In the user’s time zone. Messages wait until the quiet hours end. Leave both times empty for none.',
    clearable: true,
  },
  { name: 'to', label: 'Quiet hours until', input: 'time', hint: 'May be on the next day.', clearable: true },
];

/** The rules that hold for all kinds. */
function Rules({ settings }: { settings: Settings }) {
  const attributes = useQuery(attributesQuery).data?.filter(({ type }) => type === 'user') ?? [];
  const { localeAttribute, emailsPerDay, pushesPerDay, quietHours } = settings;
  const { from = null, to = null } = quietHours ?? {};
  const item: Values = { localeAttribute, emailsPerDay, pushesPerDay, from, to };
  const language: Field = {
    name: 'localeAttribute',
    label: 'Attribute with the language',
    input: 'choice',
    hint: 'The user attribute whose value is the code of the language, such as de. With it, you can write templates in several languages.',
    options: attributes.map(({ key, name }) => ({ value: key, text: name })),
    clearable: true,
  };
  return (
    <Panel title="Rules of sending" className="max-w-3xl">
      <FieldsForm
        fields={[...RULES, language]}
        item={item}
        save={(sent) => saveRules({ ...item, ...sent })}
        done="Saved."
      />
    </Panel>
  );
}

const NAMES = /messages\.(?:quietHours\.)?(?=emailsPerDay|pushesPerDay|from|to|localeAttribute)/;

/** Saves the rules. Problems name the fields of the form. */
async function saveRules({ localeAttribute, emailsPerDay, pushesPerDay, from, to }: Values): Promise<void> {
  if (isEmpty(from) !== isEmpty(to))
    throw new Problem(0, `${isEmpty(from) ? 'from' : 'to'}: enter both times, or none.`);
  const quietHours = isEmpty(from) ? null : { from: from as string, to: to as string };
  try {
    await applySettings({
      localeAttribute: isEmpty(localeAttribute) ? null : (localeAttribute as string),
      emailsPerDay: emailsPerDay as number,
      pushesPerDay: pushesPerDay as number,
      quietHours,
    });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new Problem(error.status, error.message.replace(NAMES, ''));
  }
}
