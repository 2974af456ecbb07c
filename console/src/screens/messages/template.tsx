import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { curlOf } from '../../api/client.ts';
import { useChange } from '../../api/change.ts';
import { attributesQuery, settingsQuery as brandingQuery } from '../../api/queries.ts';
import { useSettled } from '../../api/use-settled.ts';
import { ConfirmedButton } from '../../ui/confirmed.tsx';
import { Form } from '../../ui/form.tsx';
import { Empty, Failed, Panel, Screen, Tag, Waiting } from '../../ui/parts.tsx';
import {
  type Draft,
  draftOf,
  isSame,
  type Part,
  type Place,
  problemsOf,
  saveTemplate,
  settingsWith,
  templateAt,
  templatesOf,
} from './draft.ts';
import { Insertions } from './insertions.tsx';
import { PreviewPanel } from './preview.tsx';
import { ALL, applySettings, localeText, settingsQuery, type Settings } from './queries.ts';
import { type Look, pushStarterOf, starterOf } from './starters.ts';
import { EmailParts, type Input, PushParts } from './template-parts.tsx';
import { KINDS, type Kind, type Medium } from './words.ts';

const emailRoute = getRouteApi('/messages/$kind/$locale');
const pushRoute = getRouteApi('/messages/push/$kind/$locale');

/** The template of an e-mail's kind and language. */
export const TemplateScreen = () => <TemplateOf {...emailRoute.useParams()} medium="email" />;

/** The same for a push notification. */
export const PushTemplateScreen = () => <TemplateOf {...pushRoute.useParams()} medium="push" />;

const PARENTS = {
  email: { to: '/messages', text: 'Messages' },
  push: { to: '/messages/push', text: 'Push templates' },
} as const;

function TemplateOf({ medium, kind, locale }: { medium: Medium; kind: string; locale: string }) {
  const settings = useQuery(settingsQuery);
  const attributes = useQuery(attributesQuery);
  const branding = useQuery(brandingQuery);
  const error = settings.error ?? attributes.error ?? branding.error;
  const parent = PARENTS[medium];
  if (!Object.hasOwn(KINDS, kind))
    return (
      <Screen title={kind} parent={parent}>
        <Empty title="There are no messages of this kind" />
      </Screen>
    );
  if (error !== null || !settings.data || !attributes.data || !branding.data)
    return (
      <Screen title={KINDS[kind as Kind].name} parent={parent}>
        {error === null ? <Waiting of="fields" /> : <Failed error={error} />}
      </Screen>
    );
  return (
    <Editor
      key={`${medium} ${kind} ${locale}`}
      place={{ medium, kind: kind as Kind, locale: locale === ALL ? undefined : locale }}
      settings={settings.data}
      attributes={attributes.data.filter(({ type }) => type === 'user')}
      look={branding.data.branding}
    />
  );
}

interface EditorProps {
  place: Place;
  settings: Settings;
  attributes: readonly { key: string; name: string }[];
  look: Look;
}

function Editor({ place, settings, attributes, look }: EditorProps) {
  const { medium, kind, locale } = place;
  const navigate = useNavigate();
  /** The stored template when the editor was opened, or last saved. */
  const [before, setBefore] = useState<Draft | undefined>(() => {
    const stored = templateAt(settings, place);
    return stored && draftOf(medium, stored);
  });
  const [draft, setDraft] = useState<Draft>(() => {
    const general = templateAt(settings, { ...place, locale: undefined });
    return before ?? draftOf(medium, general ?? (medium === 'email' ? starterOf : pushStarterOf)(kind, look));
  });
  const [initial, setInitial] = useState(draft);
  const settled = useSettled(draft);
  const keys = attributes.map(({ key }) => key);
  const problems = problemsOf(settled, place, keys);
  const { active, insert, inputOf } = useInsertion(draft, setDraft, medium === 'email' ? 'html' : 'body');
  const save = useChange({
    run: () => saveTemplate(place, draft, before),
    done: 'The template is saved.',
    quiet: true,
  });
  const remove = useChange({ run: () => saveTemplate(place, null, before), done: 'The template is deleted.' });
  const others = templatesOf(settings, medium).filter(
    (template) => template.kind === kind && template.locale !== undefined,
  );
  const insertions = <Insertions place={place} attributes={attributes} into={active} onInsert={insert} look={look} />;
  const name = `${medium === 'push' ? 'Push: ' : ''}${KINDS[kind].name}: ${localeText(locale, others.length === 0)}`;
  const parts = { draft, problems, inputOf };
  return (
    <Screen
      title={
        <>
          {name} {before === undefined && <Tag tone="warn">not saved yet</Tag>}
        </>
      }
      name={name}
      parent={PARENTS[medium]}
      about={`${KINDS[kind].when} In the user’s time zone.`}
      actions={
        before !== undefined &&
        (locale !== undefined || others.length === 0) && (
          <ConfirmedButton
            look="danger"
            change={{
              ...remove,
              mutate: (input, { onSettled }) =>
                remove.mutate(input, { onSettled, onSuccess: () => void navigate({ to: PARENTS[medium].to }) }),
            }}
            title="Delete the template?"
            action="Delete"
            about={
              locale === undefined
                ? 'Messages of this kind are no longer sent.'
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
              curl: () => curlOf(() => applySettings(settingsWith(settings, place, draft))),
            }}
            submit="Save"
            isDirty={!isSame(draft, initial)}
            onSubmit={(form) => {
              const wrong = Object.keys(problemsOf(draft, place, keys))[0];
              if (wrong !== undefined) return form.querySelector<HTMLElement>(`[data-part="${wrong}"]`)?.focus();
              save.mutate(undefined, {
                onSuccess: () => {
                  setInitial(draft);
                  setBefore(draft);
                },
              });
            }}
          >
            {medium === 'email' ? (
              <EmailParts {...parts} insertions={insertions} write={(text) => setDraft({ ...draft, text } as Draft)} />
            ) : (
              <PushParts {...parts} insertions={insertions} />
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
        <PreviewPanel place={place} draft={settled} isFaulty={Object.keys(problems).length > 0} look={look} />
      </div>
    </Screen>
  );
}

/** Inserts text where the cursor was last, and puts the cursor behind it. */
function useInsertion(draft: Draft, setDraft: (draft: Draft) => void, first: Part) {
  const [active, setActive] = useState<Part>(first);
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
    spellCheck: part !== 'html' && part !== 'url',
    required: part !== 'url',
    value: draft[part],
    ref: (input: Input | null) => {
      if (input !== null) inputs.current[part] = input;
    },
    onFocus: () => setActive(part),
    onChange: ({ target }: { target: Input }) => setDraft({ ...draft, [part]: target.value }),
  });
  return { active, insert, inputOf };
}
