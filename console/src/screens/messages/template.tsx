import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { curlOf } from '../../api/client.ts';
import { useChange } from '../../api/change.ts';
import { attributesQuery, settingsQuery as brandingQuery } from '../../api/queries.ts';
import { useMayChange } from '../../api/session.ts';
import { useSettled } from '../../api/use-settled.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmedButton } from '../../ui/confirmed.tsx';
import { Labelled, TextArea, TextInput } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { Empty, Failed, Panel, Screen, Tag, Waiting } from '../../ui/parts.tsx';
import {
  draftOf,
  isSame,
  problemsOf,
  saveTemplate,
  templateAt,
  templatesWith,
  type Draft,
  type Part,
} from './draft.ts';
import { Insertions } from './insertions.tsx';
import { PreviewPanel } from './preview.tsx';
import { ALL, applySettings, localeText, settingsQuery, type Settings } from './queries.ts';
import { PLACEHOLDER_URL, starterOf, textOf, type Look } from './starters.ts';
import { KINDS, type Kind } from './words.ts';

const route = getRouteApi('/messages/$kind/$locale');
const PARENT = { to: '/messages', text: 'Messages' } as const;

/** The template of a kind and language. */
export function TemplateScreen() {
  const { kind, locale } = route.useParams();
  const settings = useQuery(settingsQuery);
  const attributes = useQuery(attributesQuery);
  const branding = useQuery(brandingQuery);
  const error = settings.error ?? attributes.error ?? branding.error;
  if (!Object.hasOwn(KINDS, kind))
    return (
      <Screen title={kind} parent={PARENT}>
        <Empty title="There are no e-mails of this kind" />
      </Screen>
    );
  if (error !== null || !settings.data || !attributes.data || !branding.data)
    return (
      <Screen title={KINDS[kind as Kind].name} parent={PARENT}>
        {error === null ? <Waiting of="fields" /> : <Failed error={error} />}
      </Screen>
    );
  return (
    <Editor
      key={`${kind} ${locale}`}
      place={{ kind: kind as Kind, locale: locale === ALL ? undefined : locale }}
      settings={settings.data}
      attributes={attributes.data.filter(({ type }) => type === 'user')}
      look={branding.data.branding}
    />
  );
}

interface EditorProps {
  place: { kind: Kind; locale: string | undefined };
  settings: Settings;
  attributes: readonly { key: string; name: string }[];
  look: Look;
}

function Editor({ place, settings, attributes, look }: EditorProps) {
  const { kind, locale } = place;
  const mayChange = useMayChange();
  const navigate = useNavigate();
  /** The stored template when the editor was opened, or last saved. */
  const [before, setBefore] = useState<Draft | undefined>(() => templateAt(settings, place));
  const [draft, setDraft] = useState<Draft>(() =>
    draftOf(before ?? templateAt(settings, { kind, locale: undefined }) ?? starterOf(kind, look)),
  );
  const [initial, setInitial] = useState(draft);
  const settled = useSettled(draft);
  const keys = attributes.map(({ key }) => key);
  const problems = problemsOf(settled, kind, keys);
  const { active, insert, inputOf } = useInsertion(draft, setDraft);
  const save = useChange({
    run: () => saveTemplate(place, draft, before),
    done: 'The template is saved.',
    quiet: true,
  });
  const remove = useChange({ run: () => saveTemplate(place, null, before), done: 'The template is deleted.' });
  const others = settings.templates.filter((template) => template.kind === kind && template.locale !== undefined);
  const name = `${KINDS[kind].name}: ${localeText(locale, others.length === 0)}`;
  const set = (part: Part, value: string): void => setDraft({ ...draft, [part]: value });
  return (
    <Screen
      title={
        <>
          {name} {before === undefined && <Tag tone="warn">not saved yet</Tag>}
        </>
      }
      name={name}
      parent={PARENT}
      about={`${KINDS[kind].when} In the user’s time zone.`}
      actions={
        before !== undefined &&
        (locale !== undefined || others.length === 0) && (
          <ConfirmedButton
            look="danger"
            change={{
              ...remove,
              mutate: (input, { onSettled }) =>
                remove.mutate(input, { onSettled, onSuccess: () => void navigate({ to: '/messages' }) }),
            }}
            title="Delete the template?"
            action="Delete"
            about={
              locale === undefined
                ? 'E-mails of this kind are no longer sent.'
                : 'Users of this language get the template for all other users.'
            }
          >
            Delete
          </ConfirmedButton>
        )
      }
    >
      <div className="grid items-start gap-4 lg:grid-cols-2">
        <Panel title="Template">
          <Form
            noValidate
            change={{
              ...save,
              // Saving first reads the other templates, which the command must not show.
              curl: () => curlOf(() => applySettings({ templates: templatesWith(settings, place, draft) })),
            }}
            submit="Save"
            isDirty={!isSame(draft, initial)}
            onSubmit={(form) => {
              const wrong = Object.keys(problemsOf(draft, kind, keys))[0];
              if (wrong !== undefined) return form.querySelector<HTMLElement>(`[data-part="${wrong}"]`)?.focus();
              save.mutate(undefined, {
                onSuccess: () => {
                  setInitial(draft);
                  setBefore(draft);
                },
              });
            }}
          >
            <Labelled label="Subject" problem={problems.subject}>
              <TextInput {...inputOf('subject')} aria-invalid={problems.subject !== undefined} />
            </Labelled>
            <Insertions kind={kind} attributes={attributes} into={active} onInsert={insert} look={look} />
            <Labelled label="HTML" hint="What most users see. Links begin with https://." problem={problems.html}>
              <TextArea
                {...inputOf('html')}
                rows={14}
                className="font-mono text-xs"
                aria-invalid={problems.html !== undefined}
              />
            </Labelled>
            {draft.html.includes(PLACEHOLDER_URL) && (
              <p className="rounded-md bg-warn-soft px-3 py-2 text-warn">
                Write the address of your app instead of <code>{PLACEHOLDER_URL}</code>. If the{' '}
                <Link to="/organisation" className="underline">
                  branding
                </Link>{' '}
                has it, new templates begin with it.
              </p>
            )}
            <Labelled label="Text" hint="The same for readers without HTML." problem={problems.text}>
              <TextArea {...inputOf('text')} rows={8} aria-invalid={problems.text !== undefined} />
            </Labelled>
            {mayChange && (
              <Button className="self-start" onClick={() => set('text', textOf(draft.html))}>
                Write the text from the HTML
              </Button>
            )}
            <p className="text-xs text-muted">
              Saving makes a new version of the{' '}
              <Link to="/configuration" className="text-accent underline">
                configuration
              </Link>
              , where you can compare and restore earlier ones.
            </p>
          </Form>
        </Panel>
        <PreviewPanel kind={kind} draft={settled} isFaulty={Object.keys(problems).length > 0} />
      </div>
    </Screen>
  );
}

type Input = HTMLInputElement | HTMLTextAreaElement;

/** Inserts text where the cursor was last, and puts the cursor behind it. */
function useInsertion(draft: Draft, setDraft: (draft: Draft) => void) {
  const [active, setActive] = useState<Part>('html');
  const inputs = useRef<Partial<Record<Part, Input>>>({});
  const caret = useRef<number | null>(null);
  useEffect(() => {
    if (caret.current === null) return;
    const input = inputs.current[active];
    input?.focus();
    input?.setSelectionRange(caret.current, caret.current);
    caret.current = null;
  }, [draft, active]);
  const insert = (text: string): void => {
    const { selectionStart, selectionEnd } = inputs.current[active]!;
    const value = draft[active];
    const [from, to] = [selectionStart ?? value.length, selectionEnd ?? value.length];
    caret.current = from + text.length;
    setDraft({ ...draft, [active]: value.slice(0, from) + text + value.slice(to) });
  };
  const inputOf = (part: Part) => ({
    'data-part': part,
    spellCheck: part !== 'html',
    required: true,
    value: draft[part],
    ref: (input: Input | null) => {
      if (input !== null) inputs.current[part] = input;
    },
    onFocus: () => setActive(part),
    onChange: ({ target }: { target: Input }) => setDraft({ ...draft, [part]: target.value }),
  });
  return { active, insert, inputOf };
}
