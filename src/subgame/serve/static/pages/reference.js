// The API, as /openapi.json describes it.
import { html, asked, Problem, Wait } from "../lib/core.js";
import { useMemo } from "preact/hooks";

const read = () => fetch("/openapi.json").then((answer) => answer.json());

// The fields of a body; those that are objects of their own follow with a dot.
function fields(schema, all, before = "") {
  const object = schema?.$ref ? all[schema.$ref.split("/").at(-1)] : schema;
  return Object.entries(object?.properties || {}).flatMap(([name, field]) => {
    const inner = field.$ref || field.allOf?.[0]?.$ref;
    if (inner) return fields({ $ref: inner }, all, `${before}${name}.`);
    const kinds = (field.anyOf || [field])
      .map((one) =>
        one.$ref
          ? "object"
          : one.type === "array"
            ? "list"
            : one.enum
              ? one.enum.join(" | ")
              : one.type || "any",
      )
      .filter((kind) => kind !== "null");
    return [
      {
        name: before + name,
        kind: kinds.join(" or "),
        about: field.description,
        needed: (object.required || []).includes(name),
        usual: field.default,
      },
    ];
  });
}

const Fields = ({ rows }) =>
  rows.length
    ? html`<ul class="params">
        ${rows.map((row) => html`<li key=${row.name}><code>${row.name}</code> <span class="soft">${row.kind}${row.needed ? "" : row.usual === undefined || row.usual === null || row.usual === "" ? ", optional" : `, ${JSON.stringify(row.usual)} if not given`}</span>${row.about ? html` ${row.about}` : null}</li>`)}
      </ul>`
    : null;

function Operation({ method, path, operation, all }) {
  const parameters = (operation.parameters || []).map((parameter) => ({
    name: parameter.name,
    kind: parameter.schema.type || "text",
    about: parameter.description,
    needed: parameter.required,
    usual: parameter.schema.default,
  }));
  const body = operation.requestBody
    ? fields(operation.requestBody.content["application/json"]?.schema, all)
    : [];
  const plain =
    method === "get" && !path.includes("{") && parameters.every((parameter) => !parameter.needed);
  return html`<li class="operation">
    <h3 class="third">
      <span class="badge">${method.toUpperCase()}</span>${" "}
      ${plain ? html`<a href=${path} target="_blank" rel="noopener"><code>${path}</code></a>` : html`<code>${path}</code>`}
    </h3>
    <p>${(operation.description || operation.summary).replaceAll("``", "").replaceAll("`", "")}</p>
    <${Fields} rows=${[...parameters, ...body]} />
  </li>`;
}

export function Reference() {
  const schema = useMemo(() => asked(read()), []).value;
  if (schema.state === "failed")
    return html`<section class="page narrow">
      <h1>API</h1>
      <${Problem} error=${schema.error} />
    </section>`;
  if (!schema.value)
    return html`<section class="page narrow">
      <h1>API</h1>
      <${Wait}>Reading the description<//>
    </section>`;
  const all = schema.value.components.schemas,
    tags = {};
  for (const [path, methods] of Object.entries(schema.value.paths))
    for (const [method, operation] of Object.entries(methods))
      (tags[operation.tags?.[0] || "other"] ||= []).push({ method, path, operation });
  return html`<section class="page narrow reference">
    <h1>API</h1>
    <p class="lead">
      All that the pages do is done by these requests, and a script may make them, too. Bodies and
      answers are JSON; an error has a <code>message</code> and, by <code>fields</code>, what is
      wrong with each. <a href="/openapi.json">openapi.json</a> says the same for programs.
    </p>
    <pre
      class="box"
      tabindex="0"
      role="region"
      aria-label="Example"
    ><code>curl ${location.origin}/api/games
curl ${location.origin}/api/games/solve -H "content-type: application/json" -d '{"game": "kuhn"}'</code></pre>
    ${Object.entries(tags).map(
      ([tag, rows]) =>
        html`<section key=${tag}>
          <h2>${tag[0].toUpperCase() + tag.slice(1)}</h2>
          <ul class="operations">
            ${rows.map((row) => html`<${Operation} key=${row.method + row.path} ...${row} all=${all} />`)}
          </ul>
        </section>`,
    )}
  </section>`;
}
